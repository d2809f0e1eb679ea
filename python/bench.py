"""Speed beside pytrec_eval: python bench.py [QUERIES [DOCUMENTS]], in an environment with both packages.

Evaluates a random run of 10,000 queries and 1,000 documents each, from dictionaries and from files, and prints seconds and
ratios. Values are compared first.
"""

import pathlib
import random
import sys
import tempfile
import time

import pytrec_eval

import irrs

MEASURES = ["map", "ndcg_cut_10", "recip_rank"]


def seconds(work, repeats=3):
    """Return the least time of a function, and its last result."""
    least, result = float("inf"), None
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        least = min(least, time.perf_counter() - began)
    return least, result


def main(queries=10_000, documents=1_000):
    drawn = random.Random(0)
    docs = [f"document-{n}" for n in range(100_000)]
    qrels, run = {}, {}
    for query in range(queries):
        found = drawn.sample(docs, documents)
        run[f"q{query}"] = {doc: drawn.random() for doc in found}
        qrels[f"q{query}"] = {doc: drawn.randint(0, 2) for doc in found[::20] + drawn.sample(docs, 20)}

    def peer():
        return pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10", "recip_rank"}).evaluate(run)

    def mean_of_peer(values, measure):
        return sum(value[measure] for value in values.values()) / len(values)

    theirs, values = seconds(peer)
    ours, report = seconds(lambda: irrs.evaluate(qrels, run, MEASURES, rules="pytrec_eval"))
    for measure in MEASURES:
        expected = mean_of_peer(values, measure)
        assert abs(report[measure] - expected) < 1e-9, (measure, report[measure], expected)
    per_query, _ = seconds(lambda: irrs.evaluate(qrels, run, MEASURES, rules="pytrec_eval").per_query)
    print(f"{queries:,} queries x {documents:,} documents")
    print(f"pytrec_eval {theirs:.2f} s; irrs {ours:.2f} s, {theirs / ours:.1f} times as fast")
    print(f"with values per query as dictionaries {per_query:.2f} s, {theirs / per_query:.1f} times as fast")
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("qrels.txt", "run.txt")]
        with paths[0].open("w") as file:
            file.writelines(f"{q} 0 {doc} {grade}\n" for q, judged in qrels.items() for doc, grade in judged.items())
        with paths[1].open("w") as file:
            file.writelines(f"{q} Q0 {doc} 0 {score!r} random\n" for q, scores in run.items() for doc, score in scores.items())

        def peer_of_files():
            with paths[0].open() as file:
                judged = pytrec_eval.parse_qrel(file)
            with paths[1].open() as file:
                return pytrec_eval.RelevanceEvaluator(judged, {"map", "ndcg_cut.10", "recip_rank"}).evaluate(
                    pytrec_eval.parse_run(file)
                )

        theirs, _ = seconds(peer_of_files, 1)
        ours, _ = seconds(lambda: irrs.evaluate(paths[0], paths[1], MEASURES, rules="pytrec_eval"))
        print(f"files: pytrec_eval {theirs:.2f} s; irrs {ours:.2f} s, {theirs / ours:.1f} times as fast")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
