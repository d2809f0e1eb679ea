//! `ir interleave`: interleaved runs for online comparison, and click credit.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use ir_core::fusion::interleave::{
    InterleaveConfig, InterleaveMethod, Interleaved, Leader, to_run,
};
use ir_core::trec;
use ir_core::trec::ScoreFormat;
use serde_json::json;

use crate::shared::console::{Console, Usage};
use crate::shared::format::table;
use crate::shared::input;
use crate::shared::options::{positive, tag};
use crate::shared::output::OutputSink;
use crate::shared::runs::{
    RunOptions, at_most_one_stdin, reject_input_as_output, reject_same_destination,
};

const EXAMPLES: &str = "\
Examples:
  ir interleave a.trec b.trec -o shown.trec      team draft, 10 documents
  ir interleave --method balanced --seed 7 a.trec b.trec -o shown.trec
  ir interleave --method round-robin -k 5 a.trec b.trec c.trec
  ir interleave a.trec b.trec --teams teams.tsv -o shown.trec
  ir interleave a.trec b.trec --clicks clicks.tsv    credit by clicks

Show users the interleaved run and log their clicks, one line `topic document`
per click. Then run the command with the same runs and options and --clicks:
it prints the credit of each run per topic, and the number of topics won.

  team-draft   in each round, every run in random order contributes its best
               document not yet shown; a click credits the contributing run
  balanced     two runs; the ranking with the lower read position contributes
               next; clicks are counted down to the depth that contains all of
               them (Joachims 2002)
  round-robin  runs in turn; a document already shown uses up the turn, as in
               DataFinder's code; credit as in team-draft";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// TREC runs; one may be `-` (standard input)
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Interleaving method
    #[arg(long, value_enum, default_value_t = InterleavingMethod::TeamDraft, value_name = "METHOD")]
    method: InterleavingMethod,

    /// Maximum number of documents per topic
    #[arg(long, short = 'k', default_value_t = 10, value_parser = positive, value_name = "N", allow_negative_numbers = true)]
    hits: usize,

    /// Random seed
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,

    /// Leading run of balanced interleaving [default: random per topic]
    #[arg(long, value_enum, value_name = "RUN")]
    leader: Option<LeadingRun>,

    #[command(flatten)]
    reading: RunOptions,

    /// Run tag (last column)
    #[arg(long, default_value = "ir-interleave", value_name = "NAME", value_parser = tag)]
    tag: String,

    /// Output run file [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", conflicts_with = "clicks")]
    output: Option<PathBuf>,

    /// Output file of the contributing runs, tab-separated: topic, rank, document, run
    #[arg(long, value_name = "FILE")]
    teams: Option<PathBuf>,

    /// Click file, one line `topic document` per click; prints credit instead of the run
    #[arg(long, value_name = "FILE")]
    clicks: Option<String>,

    /// With --clicks: print one JSON object per topic
    #[arg(long, requires = "clicks")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InterleavingMethod {
    TeamDraft,
    Balanced,
    RoundRobin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LeadingRun {
    First,
    Second,
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    at_most_one_stdin(&args.runs.iter().chain(&args.clicks).collect::<Vec<_>>())?;
    reject_same_destination(args.output.as_deref(), args.teams.as_deref(), "--teams")?;
    let read = || args.runs.iter().chain(&args.clicks);
    reject_input_as_output(args.output.as_deref(), "--output", read())?;
    reject_input_as_output(args.teams.as_deref(), "--teams", read())?;
    if args.leader.is_some() && args.method != InterleavingMethod::Balanced {
        return Err(Usage("--leader: expected --method balanced".into()).into());
    }
    if args.method == InterleavingMethod::Balanced && args.runs.len() != 2 {
        let found = args.runs.len();
        return Err(Usage(format!(
            "expected two runs for --method balanced, found {found}"
        ))
        .into());
    }
    let leader = args.leader.map(|leader| match leader {
        LeadingRun::First => Leader::First,
        LeadingRun::Second => Leader::Second,
    });
    let how = InterleaveConfig {
        method: match args.method {
            InterleavingMethod::TeamDraft => InterleaveMethod::TeamDraft,
            InterleavingMethod::Balanced => InterleaveMethod::Balanced(leader),
            InterleavingMethod::RoundRobin => InterleaveMethod::RoundRobin,
        },
        limit: args.hits,
        seed: args.seed,
        order: args.reading.order.into(),
    };
    let runs = args.reading.read(&args.runs, console)?;
    let merged = how.interleave(&runs)?;
    let empty = merged.values().filter(|list| list.is_empty()).count();
    if empty > 0 {
        console.warn(format_args!(
            "{empty} topics are missing from at least one run and are not interleaved"
        ));
    }
    let names: Vec<&str> = runs.iter().map(|run| run.tag.as_str()).collect();
    if let Some(path) = &args.teams {
        let mut out = OutputSink::open(Some(path))?;
        write_teams(&merged, &names, &mut out)
            .with_context(|| format!("{}: could not be written", out.name()))?;
        out.commit()?;
    }
    let mut out = OutputSink::open(args.output.as_deref())?;
    if let Some(file) = &args.clicks {
        let credits = credits(&merged, &clicks(file)?, file)?;
        writeln!(out, "{}", text(&credits, &names, args.json))
            .with_context(|| format!("{}: could not be written", out.name()))?;
    } else {
        let run = to_run(&args.tag, &merged, args.hits);
        trec::write_run(&run, ScoreFormat::Exact, &mut out)
            .with_context(|| format!("{}: could not be written", out.name()))?;
    }
    out.commit()
}

type Lists = BTreeMap<String, Interleaved<String>>;

fn write_teams(merged: &Lists, names: &[&str], out: &mut OutputSink) -> std::io::Result<()> {
    for (topic, list) in merged {
        for (rank, slot) in (1..).zip(list.slots()) {
            writeln!(out, "{topic}\t{rank}\t{}\t{}", slot.item, names[slot.list])?;
        }
    }
    Ok(())
}

/// Reads a click file: line number, topic, document.
fn clicks(file: &str) -> Result<Vec<(u64, String, String)>> {
    let mut rows = input::rows(file)?;
    let mut clicks = Vec::new();
    while let Some((line, [topic, doc])) = rows.next_row("2 (topic, document)")? {
        clicks.push((line, topic.to_owned(), doc.to_owned()));
    }
    Ok(clicks)
}

/// Credit of each run, for each topic with a click.
fn credits<'a>(
    merged: &'a Lists,
    clicks: &[(u64, String, String)],
    file: &str,
) -> Result<BTreeMap<&'a str, Vec<usize>>> {
    let file = input::name(file);
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (line, topic, doc) in clicks {
        let Some((topic, list)) = merged.get_key_value(topic.as_str()) else {
            bail!("{file}:{line}: expected a topic of the runs, found {topic:?}");
        };
        let Some(place) = list.items().position(|item| item == doc) else {
            bail!(
                "{file}:{line}: expected a document of the interleaved ranking of topic {topic:?}, found \
                 {doc:?} (different runs, options or seed?)"
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

/// The run with the highest credit; `None` for a tie.
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
