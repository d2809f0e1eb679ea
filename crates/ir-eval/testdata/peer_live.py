"""Evaluates what standard input holds with the peers, in one go: see tests/integration/other_tools.rs.

Needs pytrec-eval-terrier 0.5.11, ir_measures 0.4.3 and pyndeval 0.0.8 (.ci/peers installs them). Prints lines of block,
query, measure, value.
"""
import json
import sys

import ir_measures
import pyndeval
import pytrec_eval

case = json.load(sys.stdin)
qrels, run = case["qrels"], case["run"]


def show(block, query, measure, value):
    print(block, query, measure, repr(float(value)), sep="\t")


for block in case["blocks"]:
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels,
        (pytrec_eval.supported_measures - {"runid", "relstring", "num_q"}) | set(block["measures"]),
        relevance_level=block["level"],
        judged_docs_only_flag=block["judged_only"],
    )
    for query, values in evaluator.evaluate(run).items():
        for measure, value in values.items():
            show(block["name"], query, measure, value)

judged = [ir_measures.parse_measure(name) for name in case["judged"]]
# It divides by the length of the list.
full = {query: docs for query, docs in run.items() if docs}
for metric in ir_measures.iter_calc(judged, qrels, full):
    show("judged", metric.query_id, str(metric.measure), metric.value)

subtopics = [tuple(row) for row in case["subtopics"]]
results = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
evaluator = pyndeval.RelevanceEvaluator(subtopics, case["diversity"])
for query, values in evaluator.evaluate(results).items():
    for measure, value in values.items():
        show("diversity", query, measure, value)
