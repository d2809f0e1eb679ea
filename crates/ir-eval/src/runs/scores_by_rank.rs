//! Scores and relevant documents by rank.

use ir_core::{Grade, Judgments, Run, Scored};

use crate::{Rules, ScoreWidth, SelfHits, Ties, Unjudged};

/// How the scores of a system fall with the rank, and where the relevant documents are: over all
/// judged queries that it answers, or in the list of one.
///
/// The lists are ordered by the same [`Rules`] as for the measures.
///
/// ```
/// use ir_core::{Qrels, Run};
/// use ir_eval::{Rules, ScoresByRank};
/// let (mut qrels, mut run) = (Qrels::new(), Run::new("mine"));
/// qrels.insert("q1", "d2", 1);
/// qrels.insert("q2", "d9", 1);
/// for (query, doc, score) in [("q1", "d1", 3.0), ("q1", "d2", 2.0), ("q2", "d1", 5.0)] {
///     run.push(query, doc, score);
/// }
/// let scores = ScoresByRank::new(&run, &qrels, Rules::default(), 100);
/// assert_eq!(scores.ranks[0].mean, 4.0);
/// assert_eq!((scores.ranks[1].lists, scores.ranks[1].relevant), (1, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoresByRank {
    /// The system's name.
    pub system: String,
    /// The query, where it is one list.
    pub query: Option<String>,
    /// How many lists there are.
    pub lists: usize,
    /// What stands at each rank; the first is rank 1.
    pub ranks: Vec<RankStatistics>,
}

/// What stands at one rank. Scores that are not finite are left out of its figures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RankStatistics {
    /// How many lists reach the rank.
    pub lists: usize,
    /// In how many of them the document there is relevant.
    pub relevant: usize,
    /// The mean score; NaN when there is none.
    pub mean: f64,
    /// The score below which a tenth of them lie.
    pub low: f64,
    /// The score above which a tenth of them lie.
    pub high: f64,
}

impl ScoresByRank {
    /// The first `depth` ranks over all judged queries.
    #[must_use]
    pub fn new<J>(run: &Run, qrels: &J, rules: Rules, depth: usize) -> Self
    where
        J: Judgments + ?Sized,
    {
        let lists = qrels.queries().filter_map(|query| {
            let list = run.get(query)?;
            Some((query, list))
        });
        Self::over(run, qrels, rules, depth, lists)
    }

    /// The first `depth` ranks of one query's list; `None` when the run does not have the query.
    #[must_use]
    pub fn for_query<J>(
        run: &Run,
        qrels: &J,
        rules: Rules,
        depth: usize,
        query: &str,
    ) -> Option<Self>
    where
        J: Judgments + ?Sized,
    {
        let list = run.get(query)?;
        let mut scores = Self::over(run, qrels, rules, depth, [(query, list)].into_iter());
        scores.query = Some(query.to_owned());
        Some(scores)
    }

    fn over<'a, J>(
        run: &Run,
        qrels: &J,
        rules: Rules,
        depth: usize,
        lists: impl Iterator<Item = (&'a str, &'a [Scored])>,
    ) -> Self
    where
        J: Judgments + ?Sized,
    {
        let depth = rules.depth.map_or(depth, |most| most.min(depth));
        let mut columns: Vec<Column> = Vec::new();
        let mut count = 0;
        for (query, list) in lists {
            count += 1;
            let mut list = in_order(list, query, &rules);
            list.truncate(rules.depth.unwrap_or(usize::MAX));
            let grade = |scored: &Scored| qrels.grade(query, &scored.doc).unwrap_or(-1);
            if rules.unjudged == Unjudged::Remove {
                list.retain(|scored| grade(scored) >= 0);
            }
            list.truncate(depth);
            columns.resize_with(columns.len().max(list.len()), Column::default);
            for (column, scored) in columns.iter_mut().zip(&list) {
                column.add(scored.score, grade(scored), rules.level);
            }
        }
        Self {
            system: run.tag.clone(),
            query: None,
            lists: count,
            ranks: columns.into_iter().map(Column::summary).collect(),
        }
    }
}

/// The documents at one rank.
#[derive(Debug, Default)]
struct Column {
    lists: usize,
    relevant: usize,
    scores: Vec<f64>,
}

impl Column {
    fn add(&mut self, score: f64, grade: Grade, level: Grade) {
        self.lists += 1;
        self.relevant += usize::from(grade >= level);
        if score.is_finite() {
            self.scores.push(score);
        }
    }

    fn summary(mut self) -> RankStatistics {
        self.scores.sort_by(f64::total_cmp);
        RankStatistics {
            lists: self.lists,
            relevant: self.relevant,
            mean: (self.scores.iter().sum::<f64>() + 0.0) / self.scores.len() as f64,
            low: quantile(&self.scores, 0.1),
            high: quantile(&self.scores, 0.9),
        }
    }
}

/// A quantile of ascending values, between neighbours in proportion; NaN of none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return f64::NAN;
    };
    let at = share * last as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    values[below] + part * (values[(below + 1).min(last)] - values[below])
}

/// A list in the order by which it is judged.
pub(crate) fn in_order<'r>(list: &'r [Scored], query: &str, rules: &Rules) -> Vec<&'r Scored> {
    let keep = |scored: &&Scored| rules.self_hits == SelfHits::Keep || scored.doc != query;
    let mut list: Vec<&Scored> = list.iter().filter(keep).collect();
    // Adding 0 makes one zero of the two.
    let score = |scored: &Scored| match rules.scores {
        ScoreWidth::F64 => scored.score + 0.0,
        ScoreWidth::F32 => f64::from(scored.score as f32 + 0.0),
    };
    let falling = |a: &Scored, b: &Scored| score(b).total_cmp(&score(a));
    match rules.ties {
        Ties::RunOrder | Ties::Reject => list.sort_by(|a, b| falling(a, b)),
        Ties::TrecEval => list.sort_by(|a, b| falling(a, b).then_with(|| b.doc.cmp(&a.doc))),
        Ties::IdAscending => list.sort_by(|a, b| falling(a, b).then_with(|| a.doc.cmp(&b.doc))),
    }
    list
}
