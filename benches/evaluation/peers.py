"""Evaluates a run with pytrec_eval, ir_measures or ranx for the benchmark `bench-evaluation`.

    peers.py PACKAGE means|queries QRELS RUN

Prints lines `measure query value`, as trec_eval does.
"""
import sys

package, output, qrels_path, run_path = sys.argv[1:]


def show(measure, query, value):
    print(measure, query, repr(float(value)), sep="\t")


if package == "pytrec_eval":
    import pytrec_eval

    with open(qrels_path) as lines:
        qrels = pytrec_eval.parse_qrel(lines)
    with open(run_path) as lines:
        run = pytrec_eval.parse_run(lines)
    names = {"map", "ndcg_cut.10", "recip_rank", "recall.100", "P.5"}
    values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
    for name in sorted(next(iter(values.values()))):
        for query in values:
            if output == "queries":
                show(name, query, values[query][name])
        if output == "means":
            column = [values[query][name] for query in values]
            show(name, "all", pytrec_eval.compute_aggregated_measure(name, column))
elif package == "ir_measures":
    import ir_measures
    from ir_measures import AP, P, R, RR, nDCG

    names = {AP: "map", nDCG @ 10: "ndcg_cut_10", RR: "recip_rank", R @ 100: "recall_100", P @ 5: "P_5"}
    qrels = ir_measures.read_trec_qrels(qrels_path)
    run = ir_measures.read_trec_run(run_path)
    if output == "queries":
        for metric in ir_measures.iter_calc(list(names), qrels, run):
            show(names[metric.measure], metric.query_id, metric.value)
    else:
        for measure, value in ir_measures.calc_aggregate(list(names), qrels, run).items():
            show(names[measure], "all", value)
elif package == "ranx":
    from ranx import Qrels, Run, evaluate

    names = {"map": "map", "ndcg@10": "ndcg_cut_10", "mrr": "recip_rank", "recall@100": "recall_100", "precision@5": "P_5"}
    qrels = Qrels.from_file(qrels_path, kind="trec")
    run = Run.from_file(run_path, kind="trec")
    means = evaluate(qrels, run, list(names))
    for name, printed in names.items():
        if output == "queries":
            for query, value in run.scores[name].items():
                show(printed, query, value)
        else:
            show(printed, "all", means[name])
