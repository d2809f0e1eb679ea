//! Judges, pools and estimates beside what is known of them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ir_core::{Judgments, NoProgress};
use ir_eval::assess::Ratings;
use ir_experiment::{Cache, Registry, Runner, TaskResults};
use pool_four_engines::judges::{SimulatedJudge, expected_kappa};
use pool_four_engines::{ENGINES, EXPANDED, PooledTask, bundled};

fn task() -> TaskResults {
    let (cache, registry) = (Cache::temporary().unwrap(), Registry::default());
    let results = Runner::new(&cache, &registry).run(&bundled().unwrap(), &mut NoProgress);
    results.unwrap().tasks.remove(0)
}

#[test]
fn judges_err_as_often_as_stated() {
    // 20,000 documents, a quarter of them of grade 1, an eighth of grade 2.
    let truth = |n: usize| [0, 0, 1, 0, 0, 1, 2, 0][n % 8];
    let counts = BTreeMap::from([(0, 12_500), (1, 5_000), (2, 2_500)]);
    let all = 20_000;
    for error_rate in [0.0, 0.05, 0.3, 2.0 / 3.0, 1.0] {
        let judges: Vec<SimulatedJudge> = ["a", "b", "c"]
            .map(|name| SimulatedJudge::new(name, error_rate, &[0, 1, 2], 1))
            .into();
        let mut ratings = Ratings::new(["a", "b", "c"]);
        let mut errors = 0;
        for n in 0..all {
            let doc = n.to_string();
            let grades: Vec<i64> = judges
                .iter()
                .map(|j| j.judge("q", &doc, truth(n)))
                .collect();
            errors += usize::from(grades[0] != truth(n));
            ratings.push(&doc, grades.into_iter().map(Some));
        }
        // Four standard deviations.
        let deviation = (error_rate * (1.0 - error_rate) / all as f64).sqrt();
        assert!((errors as f64 / all as f64 - error_rate).abs() <= 4.0 * deviation);
        let expected = expected_kappa(&counts, error_rate).unwrap();
        for kappa in [ratings.cohen_kappa(0, 1), ratings.fleiss_kappa()] {
            let kappa = kappa.unwrap();
            assert!(
                (kappa - expected).abs() < 0.03,
                "{error_rate}: {kappa} {expected}"
            );
        }
    }
    assert_eq!(expected_kappa(&counts, 0.0), Some(1.0));
    // Reports that do not depend on the true grade.
    assert!(expected_kappa(&counts, 2.0 / 3.0).unwrap().abs() < 1e-12);
    // Two grades, half of the documents each, a tenth of errors: agreement .82, chance .5.
    let even = BTreeMap::from([(0, 10), (1, 10)]);
    assert!((expected_kappa(&even, 0.1).unwrap() - 0.64).abs() < 1e-12);
    assert_eq!(expected_kappa(&BTreeMap::from([(0, 10)]), 0.1), None);
}

#[test]
fn estimates_are_exact_if_everything_is_judged() {
    let pooled = PooledTask::new(&task(), 1000, 0.0).unwrap();
    assert_eq!(pooled.ratings.cohen_kappa(0, 1), Some(1.0));
    for row in &pooled.scores {
        for measure in 0..2 {
            let (exact, inferred) = (row.exact[measure], row.inferred[measure]);
            assert!(
                (exact - inferred).abs() < 1e-3,
                "{}: {exact} {inferred}",
                row.system
            );
        }
        assert_eq!(row.inferred, row.judged);
        assert!(row.exact[0] > 0.2, "{}: AP {}", row.system, row.exact[0]);
    }
    assert_eq!(pooled.scores.len(), 12);
}

#[test]
fn pools_have_the_ranks_of_the_procedure() {
    let task = task();
    let depth = 5;
    let pooled = PooledTask::new(&task, depth, 0.1).unwrap();
    let (first, second) = (&pooled.pools.organizers, &pooled.pools.submitted);
    let in_first_pool = |tag: &str| ENGINES.contains(&tag.trim_end_matches(EXPANDED));
    let mut sampled = 0;
    for run in &task.runs {
        let organizers = in_first_pool(&run.tag);
        for (query, list) in run.iter() {
            let list = ir_eval::RunOrder::Score.ranked(list);
            for (rank, scored) in (1..).zip(list) {
                let grade = second.grade(query, &scored.doc);
                if (organizers && rank <= depth) || (!organizers && rank <= 10) {
                    assert!(grade.unwrap() >= 0, "{} {query} {rank}", run.tag);
                }
                if organizers && rank <= depth {
                    assert_eq!(second.stratum(query, &scored.doc), Some("0"));
                    assert_eq!(first.grade(query, &scored.doc), grade);
                }
                if !organizers && rank <= 100 {
                    assert!(grade.is_some());
                    sampled += usize::from(grade == Some(-1));
                }
            }
        }
    }
    assert!(sampled > 100, "{sampled}");
    for (_, _, stratum, grade) in second.iter() {
        assert!(grade >= -1 && (grade >= 0 || stratum == "2"));
    }
    let relevant = |overlap: &ir_eval::runs::RunOverlap| overlap.union().relevant.unwrap();
    assert!(pooled.overlaps.iter().all(|overlap| relevant(overlap) > 10));
    // The order of the systems is about that of the exact measures.
    assert!(pooled.taus(0)[0].unwrap() > 0.3);
}

#[test]
fn expansion_changes_every_engine() {
    let task = task();
    let run = |name: &str| task.runs.iter().find(|run| run.tag == name).unwrap();
    for engine in ENGINES {
        let (keyword, expanded) = (run(engine), run(&format!("{engine}{EXPANDED}")));
        let changed = keyword.iter().zip(expanded.iter());
        let changed = changed.filter(|(a, b)| {
            assert_eq!(a.0, b.0);
            let docs = |list: &[ir_core::ScoredDoc]| -> Vec<String> {
                list.iter().map(|scored| scored.doc.clone()).collect()
            };
            docs(a.1) != docs(b.1)
        });
        assert!(changed.count() > 3, "{engine}");
    }
}

#[test]
fn error_rates_out_of_range() {
    let error = PooledTask::new(&task(), 5, 1.5).unwrap_err().to_string();
    assert_eq!(error, "expected an error rate from 0 to 1, found 1.5");
    let error = PooledTask::new(&task(), 0, 0.1).unwrap_err().to_string();
    assert_eq!(error, "expected a stratum that ends after rank 0, found 0");
}

#[test]
fn overlap_diagrams_are_written() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pool-four-engines-plots");
    let _ = fs::remove_dir_all(&folder);
    let ran = Command::new(env!("CARGO_BIN_EXE_pool-four-engines"))
        .arg("--plots")
        .arg(&folder)
        .env_remove("IR_DATA")
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    let files = fs::read_dir(&folder).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names.len(), 2, "{names:?}");
    for (name, queries) in names.iter().zip(["expanded", "keyword"]) {
        assert!(name.ends_with(&format!("-{queries}.svg")), "{name}");
        assert!(printed.contains(name.as_str()), "{printed}");
        let diagram = fs::read_to_string(folder.join(name)).unwrap();
        assert!(diagram.starts_with("<svg") && diagram.trim_end().ends_with("</svg>"));
        for engine in ENGINES {
            assert!(diagram.contains(engine), "{name}: {engine}");
        }
    }
}
