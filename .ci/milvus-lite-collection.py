"""Loads a BEIR collection into milvus-lite and compares its searches with embedded ones. Called by `.ci/milvus-lite`.

    python .ci/milvus-lite-collection.py COLLECTION FOLDER
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import zstandard

ADDRESS = f"{os.environ['IR_MILVUS_ADDRESS']}/nfcorpus"
DEPTH = 10
# Sums of f32 in another order.
ROUNDING = 2e-6


def ir(*arguments):
    done = subprocess.run([os.environ["IR"], *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ir {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def lines(path):
    zst = path.with_name(path.name + ".zst")
    data = zstandard.ZstdDecompressor().stream_reader(zst.open("rb")).read() if zst.exists() else path.read_bytes()
    return data.decode().splitlines()


def read_run(path):
    run = {}
    for line in open(path, encoding="utf-8"):
        query, _, doc, _, score, _ = line.split()
        run.setdefault(query, []).append((doc, float(score)))
    return run


def overlap(one, other):
    """Mean fraction of common documents in the top ten, and the number of queries with the same ten in this order."""
    shared, equal, queries = 0.0, 0, one.keys() | other.keys()
    for query in queries:
        first, second = ([doc for doc, _ in run.get(query, [])[:DEPTH]] for run in (one, other))
        shared += len(set(first) & set(second)) / max(len(first), len(second), 1)
        equal += first == second
    return shared / len(queries), equal, len(queries)


def check_exact(found, expected):
    """Equal hits, ties aside. `expected` has further hits, for ties at the end."""
    assert found.keys() == expected.keys()
    for query, hits in found.items():
        scores = dict(expected[query])
        for (doc, score), (_, other) in zip(hits, expected[query]):
            assert abs(score - other) < ROUNDING, (query, doc, score, other)
            assert abs(scores[doc] - score) < ROUNDING, (query, doc, score)


def main(collection, folder):
    collection, folder = pathlib.Path(collection), pathlib.Path(folder)
    os.chdir(folder)
    (folder / "c").mkdir()
    # The collection has no attribute to filter by.
    with open("c/corpus.jsonl", "w", encoding="utf-8") as out:
        for number, line in enumerate(lines(collection / "corpus.jsonl")):
            record = json.loads(line)
            record["metadata"] = {"part": number * 7919 % 10}
            out.write(json.dumps(record) + "\n")
    for name in ["queries.jsonl", "qrels/test.tsv"]:
        path = folder / "c" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines(collection / name)) + "\n", encoding="utf-8")
    model = os.environ["IR_MODEL"]
    ir("encode", model, "c", "-o", "c.vectors")
    ir("encode", model, "c", "--queries", "-o", "q.vectors")
    ir("load", ADDRESS, "c", "--vectors", "c.vectors", "--texts", "--attribute", "part:integer", "--batch", "500")

    index = ["--analysis", "lucene-standard"]
    vectors = ["--vectors", "c.vectors", "--query-vectors", "q.vectors"]
    remote = ["--engine", ADDRESS]
    remote_vectors = [*remote, "--engine-vectors", "q.vectors"]

    def search(name, k, *options):
        ir("search", "c", *options, "-k", str(k), "--scores", "exact", "-o", f"{name}.trec")
        return read_run(f"{name}.trec")

    def report(what, found, expected, name):
        shared, equal, queries = overlap(found, expected)
        values = [ir("eval", "-m", "ndcg_cut.10", "c", f"{name}{kind}.trec").split()[-1] for kind in ("-remote", "")]
        print(f"{what}: overlap of the top {DEPTH} {shared:.4f}, {equal} of {queries} queries with the same order; "
              f"nDCG@10 {values[0]} (milvus-lite), {values[1]} (embedded)", flush=True)

    for suffix, condition in [("", []), ("-filter", ["--filter", "part<=3"])]:
        what = ", filter part<=3" if condition else ""
        found = search(f"vectors{suffix}-remote", 100, *remote_vectors, *condition)
        expected = search(f"vectors{suffix}", 120, *vectors, *condition)
        check_exact(found, expected)
        report(f"vectors{what}: equal, ties aside", found, expected, f"vectors{suffix}")
        found = search(f"bm25{suffix}-remote", 100, *remote, *condition)
        expected = search(f"bm25{suffix}", 100, *index, *condition)
        report(f"BM25{what}", found, expected, f"bm25{suffix}")
        found = search(f"hybrid{suffix}-remote", 100, *remote_vectors, "--engine-hybrid", *condition)
        search(f"vectors{suffix}-100", 100, *vectors, *condition)
        ir("fuse", f"bm25{suffix}.trec", f"vectors{suffix}-100.trec", "-k", "100", "-o", f"hybrid{suffix}.trec")
        report(f"hybrid (RRF){what}", found, read_run(f"hybrid{suffix}.trec"), f"hybrid{suffix}")
    shutil.rmtree(folder)


main(*sys.argv[1:])
