//! `ir interleave`: one run out of several, and what clicks on it say.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_core::interleave::{Interleave, Interleaved, Leader, Method, to_run};
use ir_core::trec::{self, RunScores};
use serde_json::json;

use crate::shared::options::{positive, tag};
use crate::shared::console::{Console, Usage};
use crate::shared::format::{table};
use crate::shared::runs::{RunOptions, apart, not_over, only_one_stdin};
use crate::shared::output::Sink;
use crate::shared::input;

const EXAMPLES: &str = "\
Examples:
  ir interleave a.trec b.trec -o shown.trec      team draft, 10 documents
  ir interleave --method balanced --seed 7 a.trec b.trec -o shown.trec
  ir interleave --method round-robin -k 5 a.trec b.trec c.trec
  ir interleave a.trec b.trec --teams teams.tsv -o shown.trec
  ir interleave a.trec b.trec --clicks clicks.tsv    who is preferred

Show people the merged run and note their clicks, a line `topic document` for
each. Then call the command again with the same runs and options and --clicks.
It merges them as before and prints the credit of each run for each topic, and
how many topics each one won.

  team-draft   in each round every run, in an order drawn anew, gives its best
               document that is not there yet, while all have one; a click
               counts for who gave it
  balanced     of two runs; the list that was looked at less gives the next
               one until one is used up; clicks count to the depth that holds
               all of them (Joachims 2002)
  round-robin  the runs in turn; a document that is there already uses the
               turn up, as in DataFinder's code; credit as team-draft";

/// The arguments of `ir interleave`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Runs in TREC's form; `-` for standard input
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Which run gives the next document
    #[arg(long, value_enum, default_value_t = Way::TeamDraft, value_name = "METHOD")]
    method: Way,

    /// Documents per topic
    #[arg(long, short = 'k', default_value_t = 10, value_parser = positive, value_name = "N", allow_negative_numbers = true)]
    hits: usize,

    /// Where the random numbers start
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,

    /// Run that leads in balanced interleaving [default: drawn for each topic]
    #[arg(long, value_enum, value_name = "RUN")]
    leader: Option<Leads>,

    #[command(flatten)]
    reading: RunOptions,

    /// Name of the run, its last column
    #[arg(long, default_value = "ir-interleave", value_name = "NAME", value_parser = tag)]
    tag: String,

    /// File for the merged run [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "clicks")]
    output: Option<PathBuf>,

    /// File for who gave what: topic, rank, document, run, separated by tabs
    #[arg(long, value_name = "FILE")]
    teams: Option<PathBuf>,

    /// File of clicks, a line `topic document` for each: prints the credit, not the run
    #[arg(long, value_name = "FILE")]
    clicks: Option<String>,

    /// With --clicks: one JSON object per topic and line
    #[arg(long, requires = "clicks")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    TeamDraft,
    Balanced,
    RoundRobin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Leads {
    First,
    Second,
}

/// Runs `ir interleave`.
pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    only_one_stdin(&args.runs.iter().chain(&args.clicks).collect::<Vec<_>>())?;
    apart(args.output.as_deref(), args.teams.as_deref(), "--teams")?;
    let read = || args.runs.iter().chain(&args.clicks);
    not_over(args.output.as_deref(), "--output", read())?;
    not_over(args.teams.as_deref(), "--teams", read())?;
    if args.leader.is_some() && args.method != Way::Balanced {
        return Err(Usage("--leader is for --method balanced".into()).into());
    }
    if args.method == Way::Balanced && args.runs.len() != 2 {
        let found = args.runs.len();
        return Err(Usage(format!(
            "expected two runs for --method balanced, found {found}"
        ))
        .into());
    }
    let leader = args.leader.map(|leader| match leader {
        Leads::First => Leader::First,
        Leads::Second => Leader::Second,
    });
    let how = Interleave {
        method: match args.method {
            Way::TeamDraft => Method::TeamDraft,
            Way::Balanced => Method::Balanced(leader),
            Way::RoundRobin => Method::RoundRobin,
        },
        limit: args.hits,
        seed: args.seed,
        order: args.reading.order.into(),
    };
    let runs = args.reading.read(&args.runs, console)?;
    let merged = how.runs(&runs)?;
    let empty = merged.values().filter(|list| list.is_empty()).count();
    if empty > 0 {
        console.warn(format_args!(
            "{empty} topics are not in every run and have no merged list"
        ));
    }
    let names: Vec<&str> = runs.iter().map(|run| run.tag.as_str()).collect();
    if let Some(path) = &args.teams {
        let mut out = Sink::open(Some(path))?;
        write_teams(&merged, &names, &mut out)
            .with_context(|| format!("{}: could not be written", out.name()))?;
        out.commit()?;
    }
    let mut out = Sink::open(args.output.as_deref())?;
    if let Some(file) = &args.clicks {
        let credits = credits(&merged, &clicks(file)?, file)?;
        writeln!(out, "{}", text(&credits, &names, args.json))
            .with_context(|| format!("{}: could not be written", out.name()))?;
    } else {
        let run = to_run(&args.tag, &merged, args.hits);
        trec::write_run(&run, RunScores::Exact, &mut out)
            .with_context(|| format!("{}: could not be written", out.name()))?;
    }
    out.commit()
}

type Lists = BTreeMap<String, Interleaved<String>>;

fn write_teams(merged: &Lists, names: &[&str], out: &mut Sink) -> std::io::Result<()> {
    for (topic, list) in merged {
        for (rank, slot) in (1..).zip(list.slots()) {
            writeln!(out, "{topic}\t{rank}\t{}\t{}", slot.item, names[slot.list])?;
        }
    }
    Ok(())
}

/// The lines of a file of clicks: number, topic, document.
fn clicks(file: &str) -> Result<Vec<(u64, String, String)>> {
    let mut rows = source::rows(file)?;
    let mut clicks = Vec::new();
    while let Some((line, [topic, doc])) = rows.next_row("2 (topic, document)")? {
        clicks.push((line, topic.to_owned(), doc.to_owned()));
    }
    Ok(clicks)
}

/// By topic that was clicked in, the credit of each run.
fn credits<'a>(
    merged: &'a Lists,
    clicks: &[(u64, String, String)],
    file: &str,
) -> Result<BTreeMap<&'a str, Vec<usize>>> {
    let file = source::name(file);
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (line, topic, doc) in clicks {
        let Some((topic, list)) = merged.get_key_value(topic.as_str()) else {
            bail!("{file}:{line}: expected a topic of the runs, found {topic:?}");
        };
        let Some(place) = list.items().position(|item| item == doc) else {
            bail!(
                "{file}:{line}: expected a document of the merged list of topic {topic:?}, found \
                 {doc:?} (other runs, options or seed than those shown?)"
            );
        };
        places.entry(topic.as_str()).or_default().push(place);
    }
    let mut credits = BTreeMap::new();
    for (topic, places) in places {
        credits.insert(topic, merged[topic].credit(&places)?);
    }
    Ok(credits)
}

/// The only run with the most credit.
fn winner(credit: &[usize]) -> Option<usize> {
    let most = credit.iter().max()?;
    let mut best = (0..credit.len()).filter(|&run| credit[run] == *most);
    best.next().filter(|_| best.next().is_none())
}

fn text(credits: &BTreeMap<&str, Vec<usize>>, names: &[&str], as_json: bool) -> String {
    if as_json {
        let lines = credits.iter().map(|(topic, credit)| {
            let credit: serde_json::Map<String, serde_json::Value> = names
                .iter()
                .zip(credit)
                .map(|(name, n)| ((*name).to_owned(), json!(n)))
                .collect();
            let won = winner(&credits[topic]).map(|run| names[run]);
            json!({"topic": topic, "credit": credit, "winner": won}).to_string()
        });
        return lines.collect::<Vec<_>>().join("\n");
    }
    let mut rows = vec![vec!["topic".to_owned()]];
    rows[0].extend(names.iter().map(|&name| name.to_owned()));
    rows[0].push("winner".into());
    let (mut sums, mut wins) = (vec![0; names.len()], vec![0; names.len()]);
    for (topic, credit) in credits {
        let won = winner(credit);
        if let Some(run) = won {
            wins[run] += 1;
        }
        let mut row = vec![(*topic).to_owned()];
        row.extend(credit.iter().map(usize::to_string));
        row.push(won.map_or("tie", |run| names[run]).to_owned());
        sums.iter_mut().zip(credit).for_each(|(sum, n)| *sum += n);
        rows.push(row);
    }
    let ties = credits.len() - wins.iter().sum::<usize>();
    for (name, counts, last) in [
        ("all", &sums, String::new()),
        ("topics won", &wins, format!("{ties} ties")),
    ] {
        let mut row = vec![name.to_owned()];
        row.extend(counts.iter().map(usize::to_string));
        row.push(last);
        rows.push(row);
    }
    table(rows)
}
