//! HTML page: complete, self-contained, and safe from markup injection.
#![cfg(feature = "plots")]
#![allow(clippy::unwrap_used)]

use ir_core::{Qrels, Run};
use ir_eval::compare::{Comparison, ComparisonConfig};
use ir_eval::runs::SideBySide;
use ir_eval::{
    ComparisonPage, CustomMeasure, Evaluator, JudgedList, Measure, MissingQueries, PageError,
    Rules, Summary,
};
use roxmltree::{Document, Node};

/// Names with special characters of HTML, XML, CSS and JavaScript.
const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img/src=x/onerror=alert(1)>",
    "'onmouseover='alert(1)",
    "&lt;b&gt;&amp;&#60;",
    "</style></title></pre>]]>-->",
    "\u{0}\u{1b}[31m\u{7f}\u{202e}",
];

/// Systems that rank the relevant document of each query at different ranks.
fn collection(
    queries: usize,
    systems: usize,
    name: impl Fn(&str, usize) -> String,
) -> (Qrels, Vec<Run>) {
    let mut qrels = Qrels::new();
    let runs = (0..systems).map(|at| Run::new(name("system", at)));
    let mut runs: Vec<Run> = runs.collect();
    for query in 0..queries {
        let id = name("query", query);
        qrels.insert(&id, &name("good", query), 2);
        qrels.insert(&id, &name("bad", query), 0);
        for (at, run) in runs.iter_mut().enumerate() {
            let above = (query * 7 + at * query) % 5;
            for rank in 0..=above + 2 {
                let doc = match rank {
                    rank if rank == above => name("good", query),
                    rank if rank == above + 1 => name("bad", query),
                    rank => name("other", rank),
                };
                run.push(&id, doc, -(rank as f64));
            }
        }
    }
    (qrels, runs)
}

fn page(qrels: &Qrels, runs: &[Run], rules: Rules) -> String {
    let measures = [
        Measure::NDCG.at(10),
        Measure::RR,
        Measure::P.at(5),
        Measure::NUM_REL_RET,
    ];
    let evaluator = Evaluator::with_rules(qrels, &measures, rules).unwrap();
    let reports = runs.iter().map(|run| evaluator.evaluate(run).unwrap());
    let reports: Vec<_> = reports.collect();
    let comparison = Comparison::new(&reports, &ComparisonConfig::default()).unwrap();
    let runs: Vec<&Run> = runs.iter().collect();
    let error = ComparisonPage::from_runs("", &comparison, qrels, &runs[1..], 10).unwrap_err();
    let (expected, found) = (runs.len(), runs.len() - 1);
    assert_eq!(error, PageError::Runs { expected, found });
    let mut page = ComparisonPage::from_runs(HOSTILE[0], &comparison, qrels, &runs, 10).unwrap();
    page.files = vec![(HOSTILE[2].to_owned(), HOSTILE[1].to_owned())];
    page.to_html()
}

/// Turns the page into XML. Only the doctype, the void elements of the head and the attribute
/// `open` are not well-formed.
fn parsed(html: &str) -> String {
    let mut xml = html.strip_prefix("<!DOCTYPE html>").unwrap().to_owned();
    let end = xml.find("<title>").unwrap();
    let head = xml[..end].replace("\">", "\"/>").replacen("\"/>", "\">", 1);
    xml.replace_range(..end, &head);
    xml.replace("<details class=\"pair\" open>", "<details class=\"pair\">")
}

fn elements<'a>(
    document: &'a Document<'a>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'a>> {
    let nodes = document.descendants();
    nodes.filter(move |node| node.has_tag_name(name))
}

fn check(html: &str) {
    let xml = parsed(html);
    let document = Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let known = "html head meta title style body main h1 h2 nav ul li a section div table caption \
                 thead tbody tr th td b sup p dl dt dd code pre figure figcaption details summary \
                 svg desc rect line polyline polygon circle text";
    let known: Vec<&str> = known.split(' ').collect();
    let mut ids = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let tag = node.tag_name().name();
        assert!(known.contains(&tag), "<{tag}>");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && !["src", "style"].contains(&name));
            assert!(name != "href" || value.starts_with('#'), "{name}={value}");
            for part in ["://", "url("] {
                assert!(!value.contains(part), "{name}={value}");
            }
            if name == "id" {
                assert!(!ids.contains(&value.to_owned()), "{value} twice");
                ids.push(value.to_owned());
            }
        }
    }
    for node in elements(&document, "a") {
        let target = node.attribute("href").unwrap().trim_start_matches('#');
        assert!(ids.iter().any(|id| id == target), "{target}");
    }
    let style = elements(&document, "style").next().unwrap().text().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
    assert!(style.contains("@media print"));
    assert!(!html.contains('\u{0}') && !html.contains('\u{1b}'));
}

#[test]
fn names_are_escaped() {
    let name = |prefix: &str, at: usize| format!("{prefix}{at}{}", HOSTILE[at % HOSTILE.len()]);
    let (qrels, runs) = collection(12, 6, name);
    let html = page(&qrels, &runs, Rules::default());
    check(&html);
    let xml = parsed(&html);
    let document = Document::parse(&xml).unwrap();
    let texts = |name| elements(&document, name).filter_map(|node| node.text());
    let codes: Vec<&str> = texts("code").collect();
    assert_eq!(codes[0], HOSTILE[1], "the file");
    let good = format!("good6{}", HOSTILE[0]);
    assert!(codes.contains(&good.as_str()), "{codes:?}");
    assert_eq!(texts("title").next(), Some(HOSTILE[0]));
}

#[test]
fn any_number_of_systems_and_queries() {
    for (queries, systems) in [(2, 2), (3, 3), (40, 31)] {
        let (qrels, runs) = collection(queries, systems, |prefix, at| format!("{prefix}{at}"));
        let html = page(&qrels, &runs, Rules::default());
        check(&html);
        assert_eq!(html, page(&qrels, &runs, Rules::default()));
    }
}

#[test]
fn page_size_is_bounded() {
    let (qrels, runs) = collection(10_000, 3, |prefix, at| {
        format!("{prefix}-with-a-long-name-{at}")
    });
    let html = page(&qrels, &runs, Rules::default());
    check(&html);
    assert!(html.len() < 4_000_000, "{}", html.len());
}

#[test]
fn plots_and_remarks() {
    let (qrels, runs) = collection(40, 31, |prefix, at| format!("{prefix}{at}"));
    let html = page(&qrels, &runs, Rules::default());
    let has = |text: &str| assert!(html.contains(text), "{text}");
    has("systems: 31; baseline: system0");
    has("ties: score then id descending");
    has("test: paired t, two-sided; correction: Holm");
    has("differences per query: the 8 of 30 pairs of systems that differ most");
    has("scores by rank: the first system and the 3 best of 31");
    has(": the first 10 of ");
    // Four score plots, precision and recall, two curves, eight pairs, four plots of scores by
    // rank.
    assert_eq!(html.matches("<figure>").count(), 4 + 1 + 2 + 8 + 4);
    assert_eq!(html.matches("<svg ").count(), 19);
    // The relevant document with a changed rank is first.
    has("<code>good");
    has(" grade 2, rank ");
}

/// Score of the first document, averaged as a geometric mean.
struct FirstScore;

impl CustomMeasure for FirstScore {
    fn name(&self) -> &str {
        "FirstScore"
    }

    fn summary(&self) -> Summary {
        Summary::GeometricMean
    }

    fn value(&self, list: &JudgedList<'_>) -> f64 {
        list.documents().next().map_or(0.0, |first| first.score)
    }
}

/// Lists of a query with names of documents that look like markup.
#[test]
fn lists_side_by_side() {
    let name = |prefix: &str, at: usize| format!("{prefix}{at}{}", HOSTILE[at % HOSTILE.len()]);
    let (qrels, runs) = collection(6, 2, name);
    let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
    let reports = runs.iter().map(|run| evaluator.evaluate(run).unwrap());
    let reports: Vec<_> = reports.collect();
    let comparison = Comparison::new(&reports, &ComparisonConfig::default()).unwrap();
    let mut page = ComparisonPage::new("", &comparison);
    let named: Vec<(&str, &Run)> = runs.iter().map(|run| (&*run.tag, run)).collect();
    for (query, _) in runs[0].iter() {
        page.lists
            .extend(SideBySide::new(&qrels, &Rules::default(), &named, query, 3));
    }
    assert_eq!(page.lists.len(), 6);
    let html = page.to_html();
    check(&html);
    assert!(
        html.contains("id=\"lists\"") && html.contains("1 relevant"),
        "{html}"
    );
}

/// Values below the floor of the geometric mean, and values closer than the tolerance, are ties.
#[test]
fn plots_and_lists_count_the_same_wins() {
    let mut qrels = Qrels::new();
    let mut runs = [Run::new("old"), Run::new("new")];
    let values = [(1e-7, 2e-7), (0.5, 0.5 + 1e-14), (0.5, 0.75), (0.5, 0.25)];
    for (query, (old, new)) in values.into_iter().enumerate() {
        let id = format!("q{query}");
        qrels.insert(&id, "d", 1);
        runs[0].push(&id, "d", old);
        runs[1].push(&id, "d", new);
    }
    let evaluator = Evaluator::new(&qrels, &[]).unwrap();
    let evaluator = evaluator.with(FirstScore).unwrap();
    let reports = [0, 1].map(|at| evaluator.evaluate(&runs[at]).unwrap());
    let comparison = Comparison::new(&reports, &ComparisonConfig::default()).unwrap();
    let effect = comparison.pairwise_tests[0].effect;
    assert_eq!((effect.wins, effect.ties, effect.losses), (1, 2, 1));
    let lists = [&runs[0], &runs[1]];
    let page = ComparisonPage::from_runs("", &comparison, &qrels, &lists, 10).unwrap();
    let html = page.to_html();
    for text in [
        "1 won, 2 equal, 1 lost",
        "better on 1, worse on 1, equal on 2",
    ] {
        assert!(html.contains(text), "{text}");
    }
}

/// With skipped missing queries, curves and tables cover the same queries.
#[test]
fn curves_and_tables_count_the_same_queries() {
    let (qrels, mut runs) = collection(6, 2, |prefix, at| format!("{prefix}{at}"));
    let mut short = Run::new("short");
    for (query, list) in runs[1].iter().take(3) {
        for scored in list {
            short.push(query, scored.doc.clone(), scored.score);
        }
    }
    runs[1] = short;
    let rules = Rules {
        missing: MissingQueries::Skip,
        ..Rules::default()
    };
    let html = page(&qrels, &runs, rules);
    let xml = parsed(&html);
    let document = Document::parse(&xml).unwrap();
    let table = elements(&document, "tbody").next().unwrap();
    let score = |row: usize| {
        let row = table.children().nth(row).unwrap();
        let cell = row.children().nth(1).unwrap();
        let text: String = cell
            .descendants()
            .filter_map(|node| node.is_text().then(|| node.text()).flatten())
            .collect();
        text.trim_end_matches(['†', '‡']).parse::<f64>().unwrap()
    };
    let csv = elements(&document, "pre")
        .filter_map(|node| node.text())
        .find(|csv| csv.starts_with("system,cut-off k (documents),nDCG@k"))
        .unwrap();
    for (row, system) in ["system0", "short"].iter().enumerate() {
        // No list is longer than ten documents: the last point is nDCG@10.
        let last = csv.lines().rfind(|line| line.starts_with(system)).unwrap();
        let value: f64 = last.rsplit(',').next().unwrap().parse().unwrap();
        let score = score(row);
        assert!(
            (value - score).abs() <= 0.00005,
            "{system}: {value} {score}"
        );
    }
}
