//! Options that have no effect with the other arguments are usage errors, not ignored.

use crate::common::{Folder, QRELS, RUN, tiny};

fn here() -> Folder {
    let here = Folder::new();
    tiny(&here);
    here.write("qrels", QRELS);
    here.write("a", RUN);
    here.write("b", "q1 Q0 d1 1 2.5 b\nq2 Q0 d2 1 1.5 b\n");
    here.write("clicks", "q1 d1\n");
    here.write("labels.tsv", "item\tann\tben\n1\tx\tx\n2\ty\tx\n");
    here.write("texts.jsonl", "{\"text\": \"tea\", \"class\": \"a\"}\n");
    here.write("classes", "a\n");
    here
}

#[test]
fn options_without_effect_are_rejected() {
    let here = here();
    here.errors(
        "
        compare qrels a b --samples 10
          2: --samples | --interval bootstrap
        compare qrels a b --test wilcoxon --seed 1
          2: --seed | --test randomization
        fuse a b --method combsum --rrf-k 10
          2: --rrf-k | --method rrf
        interleave a b --method round-robin --seed 1
          2: --seed | team-draft
        interleave a b --method balanced --leader first --seed 1
          2: --seed | without --leader
        interleave a b --clicks clicks --tag x
          2: --tag | --clicks
        compare qrels a b --correction none --family all
          2: --family | --correction holm or bonferroni
        pool a b --form plain
          2: --merge | required
        pool a b --seed 1
          2: --seed | --shuffle
        pool --merge pool list --seed 1
          2: --seed | --merge
        pool --merge pool list --skip-header
          2: --skip-header | --merge
        mine tiny --split test --seed 1
          2: --seed | --random
        mine tiny --split test --run a --analysis whitespace
          2: --analysis | --run
        mine tiny --split test --run a --fold
          2: --fold | --run
        agree --table labels.tsv --skip-header
          2: --skip-header | --table
        agree qrels qrels --order file
          2: --order | unexpected
        knn-accuracy --texts texts.jsonl --labels classes --label-field class
          2: --label-field | --labels
    ",
    );
}

#[test]
fn the_same_options_are_accepted_where_they_have_an_effect() {
    let here = here();
    for args in [
        "compare qrels a b --test bootstrap --samples 20 --seed 1",
        "compare qrels a b --interval bootstrap --samples 20 --seed 1",
        "fuse a b --rrf-k 10",
        "interleave a b --seed 1",
        "interleave a b --method balanced --seed 1",
        "pool a b --shuffle --seed 1",
        "pool a b --depth 1 --sample 2:50% --seed 1 --pool pool",
        "mine tiny --split test --random 1 --seed 1",
        "mine tiny --split test --draw random --seed 1",
        "mine tiny --split test --analysis whitespace",
    ] {
        here.ir(args).ok();
    }
}

/// `--texts` reads a collection, so that it is a warning where no id has to be resolved.
#[cfg(feature = "dense")]
#[test]
fn texts_that_resolve_no_id() {
    let here = here();
    let model = crate::common::BERT_PYTORCH;
    here.write("corpus.jsonl", crate::common::CORPUS);
    let text = "{\"query\": \"tea\", \"positives\": [{\"text\": \"Green tea\"}]}\n";
    let id = "{\"query\": \"river\", \"positives\": [\"d3\"]}\n";
    let text = text.repeat(2).replacen("tea", "leaves", 1);
    here.write("texts", &text);
    here.write("ids", format!("{text}{id}"));
    for (examples, warns) in [("texts", true), ("ids", false)] {
        let output = format!("{examples}.model");
        let train = format!("train {model} {examples} --texts corpus.jsonl -o {output} --epochs 1");
        let err = here.ir(&train).ok().err;
        let warning = "warning: --texts: not needed, because texts has texts";
        assert_eq!(err.contains(warning), warns, "{err}");
    }
}
