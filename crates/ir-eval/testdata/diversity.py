"""Writes diversity.qrels and diversity.run (invented, from a seed) and diversity.tsv: what ndeval says of them.

pip install pyndeval==0.0.8, then run in this folder. It holds the C code of ndeval 4.5 (TREC's Web track) and
breaks ties by ascending id. Columns: level, alpha, beta, query, measure, value.
"""
import random
import pyndeval

random.seed(8)
names = [f"d{n:02}" for n in range(45)] + ["Ärger", "z.éa", "文書", "doc#7"]
qrels, run = [], []
for q in range(1, 16):
    query = f"q{q:02}"
    if q != 13:  # a query without judgments
        for doc in random.sample(names, random.randint(1, 30)):
            for subtopic in random.sample(range(1, 8), random.randint(1, 1 + q % 6)):
                grades = [0, 0, 1, 1, 2, -1] if q != 5 else [0]  # 5: nothing relevant
                qrels.append((query, str(subtopic), doc, random.choice(grades)))
    if q != 9:  # a query without results
        for doc in random.sample(names, random.randint(1, 35)):
            run.append((query, doc, random.choice([1, 2, 2.5, -3, 0.125, 7, 1e-3, 40])))

with open("diversity.qrels", "w") as out:
    for row in qrels:
        print(*row, file=out)
with open("diversity.run", "w") as out:
    for query, doc, score in run:
        print(query, "Q0", doc, 1, score, "peer", file=out)

measures = ["NRBP", "nNRBP", "MAP-IA"]
for name in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG", "P-IA", "strec"):
    measures += [f"{name}@{k}" for k in (1, 5, 10, 20)]
with open("diversity.tsv", "w") as out:
    for level, alpha, beta in ((1, 0.5, 0.5), (2, 0.5, 0.5), (1, 0.3, 0.8), (1, 0.0, 0.5), (1, 1.0, 0.9)):
        evaluator = pyndeval.RelevanceEvaluator(qrels, measures, relevance_level=level, alpha=alpha, beta=beta)
        for query, values in sorted(evaluator.evaluate(run).items()):
            for measure, value in values.items():
                print(level, alpha, beta, query, measure, repr(value), sep="\t", file=out)
