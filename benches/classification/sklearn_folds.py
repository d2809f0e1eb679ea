"""Times scikit-learn for the benchmark `bench-classification`.

Each input line requests one round. The response is one line of JSON: wall time and CPU time (all
threads) in seconds, and the accuracy of each fold.
"""
import json
import sys
import time
import warnings

import scipy
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier

with open(sys.argv[1], encoding="utf-8") as file:
    data = json.load(file)
texts, rows, labels = data["texts"], data["rows"], data["labels"]
# Some classes have fewer members than folds.
warnings.filterwarnings("ignore", message="The least populated class")
print(f"scikit-learn {sklearn.__version__}, SciPy {scipy.__version__}", flush=True)
for _ in sys.stdin:
    times = [(time.perf_counter(), time.process_time())]
    x = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    times.append((time.perf_counter(), time.process_time()))
    if len(rows) < x.shape[0]:
        x = x[rows]
    start = (time.perf_counter(), time.process_time())
    classifier = KNeighborsClassifier(n_neighbors=10, algorithm="brute", metric="euclidean")
    scores = cross_validate(classifier, x, labels, cv=10)["test_score"]
    end = (time.perf_counter(), time.process_time())
    fit = {name: b - a for name, a, b in zip(("wall", "cpu"), *times)}
    folds = {name: b - a for name, a, b in zip(("wall", "cpu"), start, end)}
    print(json.dumps({"fit": fit, "folds": folds, "accuracies": scores.tolist()}), flush=True)
