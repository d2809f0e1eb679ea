//! `ir interleave`: interleaved runs for online comparison, and click credit.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, bail};
use clap::ValueHint;
use ir_core::fusion::interleave::{
    InterleaveConfig, InterleaveMethod, Interleaved, Leader, to_run,
};
use ir_core::trec::ColumnReader;
use serde_json::json;

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::table;
use crate::shared::input;
use crate::shared::options::{choice, positive, tag};
use crate::shared::output::{OutputPath, OutputSink};
use crate::shared::runs::{
    self, RunOptions, at_most_one_stdin, warn_of_disjoint, warn_of_repeated, warn_of_single,
};

const EXAMPLES: &str = "\
Examples:
  ir interleave a.trec b.trec -o shown.trec      team draft, 10 documents
  ir interleave --method round-robin -k 5 a.trec b.trec c.trec
  ir interleave a.trec b.trec --teams teams.tsv -o shown.trec
  ir interleave a.trec b.trec --clicks clicks.tsv    credit by clicks

Show users the interleaved run and log their clicks, one line `query document`
per click. Then run the command with --clicks, and the same runs in the same
order, --method, --seed and --leader: it prints the credit of each run per
query, and the number of queries won. Another order or seed gives other teams,
and wrong credit without an error, unless a clicked document was not shown.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs; one may be `-` (standard input)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Interleaving method
    #[arg(long, value_parser = choice(METHODS), default_value = "team-draft", value_name = "METHOD")]
    method: InterleaveMethod,

    /// Maximum number of documents per query
    #[arg(long, short = 'k', default_value_t = 10, value_parser = positive, value_name = "N")]
    hits: usize,

    /// Seed of the random choices of team-draft, and of balanced without --leader [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Leading run of balanced interleaving [default: random per query]
    #[arg(long, value_parser = choice(LEADERS), value_name = "RUN")]
    leader: Option<Leader>,

    #[command(flatten)]
    reading: RunOptions,

    /// Run tag (last column)
    #[arg(long, default_value = "ir-interleave", value_name = "NAME", value_hint = ValueHint::Other, value_parser = tag, conflicts_with_all = ["clicks", "json"])]
    tag: String,

    /// Output run file; .gz and .zst are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with_all = ["clicks", "json"])]
    output: Option<OutputPath>,

    /// Output file of the contributing runs, tab-separated: query, rank, document, run
    #[arg(long, value_name = "FILE")]
    teams: Option<OutputPath>,

    /// Click file, one line `query document` per click; prints credit instead of the run
    #[arg(long, value_name = "FILE")]
    clicks: Option<String>,

    /// With --clicks: print one JSON object per query
    #[arg(long, requires = "clicks")]
    json: bool,
}

const METHODS: [(&str, &str, InterleaveMethod); 3] = [
    (
        "team-draft",
        "In each round, every run in random order contributes its best document not yet shown; a \
         click credits the contributing run",
        InterleaveMethod::TeamDraft,
    ),
    (
        "balanced",
        "Two runs; the ranking with the lower read position contributes next; clicks are counted \
         down to the depth that contains all of them (Joachims 2002)",
        InterleaveMethod::Balanced(None),
    ),
    (
        "round-robin",
        "Runs in turn; a document already shown uses up the turn, as in DataFinder's code; credit \
         as in team-draft",
        InterleaveMethod::RoundRobin,
    ),
];

const LEADERS: [(&str, &str, Leader); 2] =
    [("first", "", Leader::First), ("second", "", Leader::Second)];

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(args.runs.iter().chain(&args.clicks))?;
    let found = args.runs.len();
    let method = match (args.method, args.leader) {
        (InterleaveMethod::Balanced(_), _) if found != 2 => {
            bail_usage!("expected two runs for --method balanced, found {found}")
        }
        (InterleaveMethod::Balanced(_), leader) => InterleaveMethod::Balanced(leader),
        (_, Some(_)) => bail_usage!("--leader: expected --method balanced"),
        (method, None) => method,
    };
    let is_random = match method {
        InterleaveMethod::RoundRobin => false,
        InterleaveMethod::Balanced(leader) => leader.is_none(),
        _ => true,
    };
    if args.seed.is_some() && !is_random {
        bail_usage!(
            "--seed: expected --method team-draft, or balanced without --leader; other methods make no random choices"
        );
    }
    let config = InterleaveConfig {
        method,
        limit: args.hits,
        seed: args.seed.unwrap_or_default(),
        order: args.reading.order,
    };
    warn_of_single(&args.runs, "nothing is interleaved", console);
    warn_of_repeated(&args.runs, console);
    let runs = args.reading.read(&args.runs, console)?;
    warn_of_disjoint(&runs, console);
    let merged = config.interleave(&runs)?;
    let empty = merged.values().filter(|list| list.slots.is_empty()).count();
    if empty > 0 {
        console.warn(format_args!(
            "{empty} queries are missing from at least one run and are not interleaved"
        ));
    }
    let names: Vec<&str> = runs.iter().map(|run| run.tag.as_str()).collect();
    // All inputs are read before the first output is written.
    let clicks = args.clicks.as_ref();
    let credits = clicks
        .map(|file| credits(&merged, file, console))
        .transpose()?;
    let out = OutputSink::open(args.output.as_ref())?;
    if let Some(path) = &args.teams {
        OutputSink::open(Some(path))?.write_with(|out| write_teams(&merged, &names, out))?;
    }
    if let Some(credits) = credits {
        return out.write_with(|out| writeln!(out, "{}", text(&credits, &names, args.json)));
    }
    let run = to_run(&args.tag, &merged, args.hits);
    runs::write(&run, out, console)
}

type Lists = BTreeMap<String, Interleaved<String>>;

fn write_teams(merged: &Lists, names: &[&str], out: &mut OutputSink) -> std::io::Result<()> {
    for (query, list) in merged {
        for (rank, slot) in (1..).zip(&list.slots) {
            writeln!(out, "{query}\t{rank}\t{}\t{}", slot.item, names[slot.list])?;
        }
    }
    Ok(())
}

/// Reads a click file. Returns the credit of each run, for each query with a click.
fn credits<'a>(
    merged: &'a Lists,
    file: &str,
    console: &Console,
) -> Result<BTreeMap<&'a str, Vec<usize>>> {
    let (input, file) = input::open(file, console)?;
    let mut clicks = ColumnReader::new(input, file.as_str());
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    while let Some((line, [query, doc])) = clicks.next_row("2 (query, document)")? {
        let Some((query, list)) = merged.get_key_value(query) else {
            bail!("{file}:{line}: expected a query of the runs, found {query:?}");
        };
        let Some(place) = list.items().position(|item| item == doc) else {
            bail!(
                "{file}:{line}: expected a document of the interleaved ranking of query {query:?}, found \
                 {doc:?} (different runs, options or seed?)"
            );
        };
        places.entry(query.as_str()).or_default().push(place);
    }
    let mut credits = BTreeMap::new();
    for (query, places) in places {
        credits.insert(query, merged[query].credit(&places)?);
    }
    Ok(credits)
}

/// The run with the highest credit; `None` for a tie.
fn winner(credit: &[usize]) -> Option<usize> {
    let most = credit.iter().max()?;
    let mut best = (0..credit.len()).filter(|&run| credit[run] == *most);
    best.next().filter(|_| best.next().is_none())
}

fn text(credits: &BTreeMap<&str, Vec<usize>>, names: &[&str], as_json: bool) -> String {
    if as_json {
        let lines = credits.iter().map(|(query, credit)| {
            let credit: serde_json::Map<String, serde_json::Value> = names
                .iter()
                .zip(credit)
                .map(|(name, n)| ((*name).to_owned(), json!(n)))
                .collect();
            let won = winner(&credits[query]).map(|run| names[run]);
            json!({"topic": query, "credit": credit, "winner": won}).to_string()
        });
        return lines.collect::<Vec<_>>().join("\n");
    }
    let mut rows = vec![vec!["query".to_owned()]];
    rows[0].extend(names.iter().map(|&name| name.to_owned()));
    rows[0].push("winner".into());
    let (mut sums, mut wins) = (vec![0; names.len()], vec![0; names.len()]);
    for (query, credit) in credits {
        let won = winner(credit);
        if let Some(run) = won {
            wins[run] += 1;
        }
        let mut row = vec![(*query).to_owned()];
        row.extend(credit.iter().map(usize::to_string));
        row.push(won.map_or("tie", |run| names[run]).to_owned());
        sums.iter_mut().zip(credit).for_each(|(sum, n)| *sum += n);
        rows.push(row);
    }
    let ties = credits.len() - wins.iter().sum::<usize>();
    for (name, counts, last) in [
        ("all", &sums, String::new()),
        ("queries won", &wins, format!("{ties} ties")),
    ] {
        let mut row = vec![name.to_owned()];
        row.extend(counts.iter().map(usize::to_string));
        row.push(last);
        rows.push(row);
    }
    table(rows)
}
