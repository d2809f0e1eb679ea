"""Writes peer.qrels and peer.run (invented, from a seed) and peer.tsv: what pytrec_eval says of them.

pip install pytrec-eval-terrier==0.5.11, then run in this folder. It wraps trec_eval 9 and compares scores
in 32 bits, as release 9.0.4 does.
"""
import random
import pytrec_eval

random.seed(20)
names = [f"d{n:02}" for n in range(40)] + ["Ärger", "z.éa", "文書", "doc#7"]
qrels, run = {}, {}
for q in range(1, 15):
    query = f"q{q:02}"
    if q != 13:  # a query without judgments
        judged = random.sample(names, random.randint(1, 18))
        grades = [0, 0, 0, 1, 1, 2, 3, -1] if q != 5 else [0]  # 5: nothing relevant
        qrels[query] = {doc: random.choice(grades) for doc in judged}
        qrels[query][judged[0]] = 0 if q == 5 else 1
    if q != 9:  # a query without results
        found = random.sample(names, random.randint(1, 30))
        run[query] = {doc: random.choice([1, 2, 2.5, -3, 0.125, 7, 1e-3, 40]) for doc in found}
# Scores that differ in 64 bits and not in 32, in which it compares: the larger id comes first.
qrels["q15"] = {"d01": 1, "d02": 0, "d03": 2, "d04": 0}
run["q15"] = {"d01": 1.00000001, "d02": 1.0, "d03": 0.50000001, "d04": 0.5}

with open("peer.qrels", "w") as out:
    for query, judged in qrels.items():
        for doc, grade in judged.items():
            print(query, 0, doc, grade, file=out)
with open("peer.run", "w") as out:
    for query, found in run.items():
        for rank, (doc, score) in enumerate(found.items(), 1):
            print(query, "Q0", doc, rank, score, "peer", file=out)

measures = pytrec_eval.supported_measures - {"runid", "relstring", "num_q"}
with open("peer.tsv", "w") as out:
    for level in (1, 2):
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, measures, relevance_level=level)
        for query, values in sorted(evaluator.evaluate(run).items()):
            for measure, value in sorted(values.items()):
                print(level, query, measure, repr(value), sep="\t", file=out)
