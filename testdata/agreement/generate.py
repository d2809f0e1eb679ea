"""Writes golden.json: what other programs say of random ratings and rankings.

    python -m venv v && v/bin/pip install numpy==1.26.4 scipy==1.17.1 scikit-learn==1.9.1 \
        nltk==3.10.4 krippendorff==0.9.0 rbo==0.1.3
    v/bin/python generate.py > golden.json
"""
import json
import random
from itertools import combinations

import krippendorff
import numpy as np
import rbo
from nltk.metrics.agreement import AnnotationTask
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score, confusion_matrix

random.seed(20161)


def rating_case():
    coders, items, labels = random.randint(2, 5), random.randint(5, 40), random.randint(2, 5)
    truth = [random.randrange(labels) for _ in range(items)]
    noise = random.choice([0.1, 0.4, 0.8])
    return [[random.randrange(labels) if random.random() < noise else t for t in truth]
            for _ in range(coders)]


def rating_values(table, labels):
    task = AnnotationTask([(str(c), str(i), str(v)) for c, row in enumerate(table)
                           for i, v in enumerate(row)])
    pairs = list(combinations(range(len(table)), 2))
    values = {
        "observed": task.avg_Ao(),
        "mean_cohen": task.kappa(),
        "davies_fleiss": task.multi_kappa(),
        "fleiss": task.pi(),
        "nltk_alpha": task.alpha(),
        "cohen": [cohen_kappa_score(table[a], table[b], labels=labels) for a, b in pairs],
        "linear": [cohen_kappa_score(table[a], table[b], labels=labels, weights="linear")
                   for a, b in pairs],
        "quadratic": [cohen_kappa_score(table[a], table[b], labels=labels, weights="quadratic")
                      for a, b in pairs],
        "confusion": confusion_matrix(table[0], table[1], labels=labels).tolist(),
    }
    return values


def alphas(table):
    data = np.array([[np.nan if v is None else v for v in row] for row in table], dtype=float)
    return {level: krippendorff.alpha(reliability_data=data, level_of_measurement=level)
            for level in ["nominal", "ordinal", "interval"]}


def holes(table):
    return [[None if random.random() < 0.25 else v for v in row] for row in table]


ratings = []
while len(ratings) < 40:
    table = rating_case()
    labels = sorted({v for row in table for v in row})
    if len(labels) < 2:
        continue
    missing = holes(table)
    per_item = [[row[i] for row in missing if row[i] is not None] for i in range(len(table[0]))]
    pairable = {v for labels_of in per_item if len(labels_of) > 1 for v in labels_of}
    if len(pairable) < 2:
        continue
    values = rating_values(table, labels)
    if any(v != v for key in ["cohen", "linear", "quadratic"] for v in values[key]):
        continue
    ratings.append({"table": table, "values": values, "alpha": alphas(table),
                    "missing": missing, "missing_alpha": alphas(missing)})

scores = []
while len(scores) < 60:
    n, range_ = random.randint(3, 60), random.choice([3, 10, 1000000])
    x = [random.randrange(range_) / 4 for _ in range(n)]
    y = [v if random.random() < 0.5 else random.randrange(range_) / 4 for v in x]
    if len(set(x)) < 2 or len(set(y)) < 2:
        continue
    scores.append({"x": x, "y": y, "tau_b": float(kendalltau(x, y).statistic)})

lists = []
while len(lists) < 60:
    a = random.sample(range(60), random.randint(1, 40))
    b = random.sample(range(60), random.randint(1, 40))
    p = random.choice([0.5, 0.8, 0.9, 0.98])
    lists.append({"a": a, "b": b, "p": p, "ext": rbo.RankingSimilarity(a, b).rbo_ext(p)})

print(json.dumps({
    "versions": "numpy 1.26.4, scipy 1.17.1, scikit-learn 1.9.1, nltk 3.10.4, krippendorff 0.9.0, "
                "rbo 0.1.3, Python 3.11",
    "ratings": ratings, "scores": scores, "lists": lists}))
