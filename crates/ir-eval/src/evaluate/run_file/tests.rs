//! Every way of reading a run file returns the report of the run in memory, or the same error.

use std::io::{self, Write};
use std::sync::atomic::AtomicU64;

use ir_core::{Qrels, Run};
use proptest::prelude::*;

use super::*;
use crate::{
    CustomMeasure, JudgedList, Measure, MissingQueries, Rules, ScorePrecision, SelfHits, TieBreak,
    UnjudgedDocuments,
};

/// Temporary file, removed when dropped.
struct TemporaryFile(std::path::PathBuf);

impl TemporaryFile {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ir-eval-reading-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(bytes))
            .unwrap();
        Self(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reader that returns a few bytes at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.1.min(self.0.len()).min(to.len());
        to[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        self.1 = self.1 % 7 + 1;
        Ok(count)
    }
}

fn measures() -> Vec<Measure> {
    [
        "AP", "nDCG@3", "RR", "R@2", "P@2", "Bpref", "infAP", "NumRet", "Judged@3",
    ]
    .iter()
    .map(|name| name.parse().unwrap())
    .collect()
}

/// Custom measure that depends on everything in its input.
struct Digest;

impl CustomMeasure for Digest {
    fn name(&self) -> &str {
        "Digest"
    }

    fn value(&self, list: &JudgedList<'_>) -> f64 {
        let mut digest = list.len() as f64 + f64::from(u8::from(list.retrieved)) / 2.0;
        for doc in list.documents() {
            let id: f64 = doc.doc.bytes().map(f64::from).sum();
            let grade = doc.grade().unwrap_or(-3) as f64;
            digest += doc.rank as f64 * (id + doc.score.atan() + grade);
        }
        digest
    }
}

fn qrels() -> Qrels {
    let mut qrels = Qrels::new();
    for (n, query) in ["q1", "q2", "é", "q10", "d1"].iter().enumerate() {
        for (m, doc) in ["d1", "d2", "ü", "d3", "日本", "q1"].iter().enumerate() {
            if (n + m) % 3 != 0 {
                qrels.insert(query, doc, (n as i64 + m as i64) % 4 - 1);
            }
        }
    }
    qrels.insert("none", "d1", -1);
    qrels
}

/// Reference: reads the run into memory first.
fn in_memory(
    evaluator: &Evaluator<'_>,
    bytes: &[u8],
    name: &str,
    header: HeaderLine,
) -> Result<Parsed<Report>, RunFileError> {
    let run: Parsed<Run> = trec::read_run(bytes, name, header)?;
    let warnings = run.warnings;
    match evaluator.evaluate(&run.data) {
        Ok(data) => Ok(Parsed { data, warnings }),
        Err(error) => Err(RunFileError::Eval { error, warnings }),
    }
}

/// Text of the report in full precision, or of the error.
fn shown(outcome: Result<Parsed<Report>, RunFileError>) -> String {
    match outcome {
        Ok(parsed) => {
            let bits: Vec<Vec<u64>> = parsed
                .data
                .queries()
                .iter()
                .map(|query| query.values().iter().map(|value| value.to_bits()).collect())
                .collect();
            format!("{:?} {:?} {bits:?}", parsed.data, parsed.warnings)
        }
        Err(RunFileError::Eval { error, warnings }) => format!("{error} {warnings:?}"),
        Err(error) => error.to_string(),
    }
}

/// Asserts that all ways of reading agree, and returns their result.
fn check(evaluator: &Evaluator<'_>, bytes: &[u8], header: HeaderLine) -> String {
    let file = TemporaryFile::new(bytes);
    let name = file.0.display().to_string();
    let expected = shown(in_memory(evaluator, bytes, &name, header));
    for threads in 1..=4 {
        for min_size in [1, 7, 60, 1 << 20] {
            let options = RunFileOptions {
                header,
                threads: NonZeroUsize::new(threads),
            };
            let found = shown(evaluator.evaluate_parts(&file.0, options, min_size));
            assert_eq!(
                found, expected,
                "{threads} threads, parts of {min_size} bytes"
            );
        }
    }
    let trickle = || Trickle(bytes, 3);
    let found = evaluator.evaluate_reader(trickle(), &name, header);
    assert_eq!(shown(found), expected, "read once");
    let open = || Ok::<_, RunFileError>(trickle());
    let found = evaluator.evaluate_stream(&name, header, open);
    assert_eq!(shown(found), expected, "read as a stream");
    expected
}

fn rules() -> impl Strategy<Value = Rules> {
    let ties = prop_oneof![
        4 => Just(TieBreak::TrecEval),
        1 => Just(TieBreak::IdAscending),
        1 => Just(TieBreak::RunOrder),
        1 => Just(TieBreak::Reject),
    ];
    let depth = prop_oneof![Just(None), (0..4_usize).prop_map(Some)];
    (ties, any::<[bool; 4]>(), depth, 0..3_i64).prop_map(|(ties, choice, depth, level)| {
        let [missing, unjudged, self_hits, width] = choice;
        Rules {
            ties,
            missing: if missing {
                MissingQueries::Zero
            } else {
                MissingQueries::Skip
            },
            unjudged: if unjudged {
                UnjudgedDocuments::Remove
            } else {
                UnjudgedDocuments::NonRelevant
            },
            self_hits: if self_hits {
                SelfHits::Drop
            } else {
                SelfHits::Keep
            },
            scores: if width {
                ScorePrecision::F32
            } else {
                ScorePrecision::F64
            },
            depth,
            level,
            ..Rules::default()
        }
    })
}

/// Valid lines, some of them unusual.
fn line() -> impl Strategy<Value = String> {
    let query = prop::sample::select(vec!["q1", "q2", "é", "q10", "d1", "other", "more"]);
    let doc = prop_oneof![
        prop::sample::select(vec!["d1", "d2", "ü", "d3", "日本", "q1", "#tag", "x"])
            .prop_map(str::to_owned),
        "[a-z]{1,9}[0-9]{0,9}",
    ];
    let score = prop_oneof![
        4 => (-3..4_i32).prop_map(|n| n.to_string()),
        4 => any::<f64>().prop_filter("no number", |x| !x.is_nan()).prop_map(|x| format!("{x:?}")),
        3 => (0..10_000_i32).prop_map(|n| format!("{:.4}", f64::from(n) / 1000.0)),
        1 => prop::sample::select(vec!["inf", "-inf", "0x1.8p3", "1e400", "Score", "3,5", "-0.0"])
            .prop_map(str::to_owned),
    ];
    let space = prop::sample::select(vec![" ", " ", " ", "\t", "  ", " \t ", "\x0b"]);
    let end = prop::sample::select(vec!["\n", "\n", "\r\n", " \n", " more columns\n", "\n\n"]);
    let tag = prop::sample::select(vec!["t", "t", "t", "another"]);
    (query, doc, score, space, end, tag).prop_map(|(query, doc, score, s, end, tag)| {
        format!("{query}{s}Q0{s}{doc}{s}1{s}{score}{s}{tag}{end}")
    })
}

/// Lines that are not lines of a run.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        &b"# a comment\n"[..],
        b"\r\n",
        b"QueryID Q0 DocID Rank Score RunID\n",
        b"# a comment with \xFF\n",
        b"q1 Q0 d1 1\n",
        b"q1 Q0 d1 1 nan t\n",
        b"q1 Q0 d\0 1 2 t\n",
        b"q1 Q0 d\xE9 1 2 t\n",
        b"q2 Q0 d1 1  t\n",
    ])
    .prop_map(<[u8]>::to_vec)
}

/// Run file: mostly valid, and the lines of a query mostly contiguous.
fn file() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec(line(), 0..40);
    let bad = prop::collection::vec((any::<prop::sample::Index>(), noise()), 0..2);
    (lines, bad, 0..4_u8, any::<bool>(), any::<bool>()).prop_map(
        |(mut lines, bad, scattered, repeats, cut)| {
            if scattered > 0 {
                let query =
                    |line: &String| line.split([' ', '\t', '\x0b']).next().map(str::to_owned);
                lines.sort_by_key(query);
            }
            if !repeats {
                let mut seen = HashSet::new();
                let key = |line: &String| {
                    let mut fields = line.split_whitespace();
                    (
                        fields.next().map(str::to_owned),
                        fields.nth(1).map(str::to_owned),
                    )
                };
                lines.retain(|line| seen.insert(key(line)));
            }
            let mut lines: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            for (at, noise) in bad {
                lines.insert(at.index(lines.len() + 1), noise);
            }
            let mut bytes = lines.concat();
            if cut && bytes.ends_with(b"\n") {
                bytes.pop();
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_way_of_reading_agrees(
        rules in rules(), file in file(), skip: bool
    ) {
        let qrels = qrels();
        let evaluator = Evaluator::with_rules(&qrels, &measures(), rules).unwrap();
        let evaluator = evaluator.with_top_judgments(3).with(Digest).unwrap();
        let header = if skip { HeaderLine::Skip } else { HeaderLine::AsData };
        check(&evaluator, &file, header);
    }
}

#[test]
fn the_first_error_of_the_file_is_returned() {
    let qrels = qrels();
    let evaluator = Evaluator::new(&qrels, &measures()).unwrap();
    let error = |text: &[u8]| {
        let shown = check(&evaluator, text, HeaderLine::AsData);
        shown
            .split_once(':')
            .map(|(_, what)| what.to_owned())
            .unwrap_or(shown)
    };
    let repeated = "3: document \"d1\" of query \"q1\" is already in line 1";
    let line = |query: &str, doc: &str| format!("{query} Q0 {doc} 1 1 t\n");
    let (a, b, again) = (line("q1", "d1"), line("q2", "d1"), line("q1", "d1"));
    assert_eq!(error(format!("{a}{b}{again}q3 Q0\n").as_bytes()), repeated);
    assert_eq!(
        error(format!("{a}{b}q3 Q0\n{again}").as_bytes()),
        "3: expected at least 6 columns, found 2"
    );
    assert_eq!(
        error(format!("{a}\n# no data\n{}{again}", line("q1", "d2")).as_bytes()),
        "5: document \"d1\" of query \"q1\" is already in line 1"
    );
}

#[test]
fn warnings_of_all_parts_have_line_numbers() {
    let qrels = qrels();
    let evaluator = Evaluator::new(&qrels, &measures()).unwrap();
    for odd in [1, 19, 20, 21, 50] {
        let mut text = String::new();
        for n in 0..60 {
            let score = if n < odd { "3,5" } else { "3.5" };
            text += &format!("query{n} Q0 d1 1 {score} t\n");
        }
        text += "q1 Q0 d1 1 1 t\n";
        let shown = check(&evaluator, text.as_bytes(), HeaderLine::AsData);
        assert_eq!(
            shown.matches("was read as 3").count(),
            if odd > 20 { 19 } else { odd }
        );
        assert_eq!(shown.contains("more of these lines"), odd > 20);
    }
}

/// Generates a run of `topics` queries with 100 documents while it is read.
struct Generated {
    topic: u64,
    topics: u64,
    pending: Vec<u8>,
    longest_read: usize,
}

impl Read for Generated {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.longest_read = self.longest_read.max(to.len());
        if self.pending.is_empty() && self.topic < self.topics {
            self.topic += 1;
            for doc in 0..100 {
                let score = 100 - doc;
                writeln!(self.pending, "{} Q0 d{doc} 0 {score} t", self.topic)?;
            }
        }
        let count = self.pending.len().min(to.len());
        to[..count].copy_from_slice(&self.pending[..count]);
        self.pending.drain(..count);
        Ok(count)
    }
}

#[test]
fn a_stream_of_any_length_is_read_through_a_small_buffer() {
    let mut qrels = Qrels::new();
    qrels.insert("7", "d1", 1);
    let evaluator = Evaluator::new(&qrels, &[Measure::RR]).unwrap();
    let mut generated = Generated {
        topic: 0,
        topics: 3000,
        pending: Vec::new(),
        longest_read: 0,
    };
    let mut once = Some(&mut generated);
    let report = evaluator
        .evaluate_stream("made", HeaderLine::AsData, || {
            once.take().ok_or(RunFileError::Open {
                path: "made".into(),
                cause: io::ErrorKind::Other.into(),
            })
        })
        .unwrap()
        .data;
    assert_eq!(report.summary(Measure::RR), Some(0.5));
    assert_eq!(report.unjudged().len(), 2999);
    // The run has 5 MB.
    assert!(
        generated.longest_read <= 256 << 10,
        "{}",
        generated.longest_read
    );
}
