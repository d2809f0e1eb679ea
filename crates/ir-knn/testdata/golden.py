"""Writes golden.jsonl.gz: scikit-learn's TF-IDF vectors, folds, kNN accuracies and SVDs.

    pip install scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1
    python golden.py

Every line is one case of `tests/integration/golden.rs`.
"""

import gzip
import json
import random
import warnings

import numpy as np
import scipy
import sklearn
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier

warnings.simplefilter("ignore")

TEXTS = [
    "The cat sat on the mat.",
    "The dog ate the cat!",
    "A co-operative don't x y2k \u00dcn\u00efcode_2",
    "Cat and dog, dog and cat: the mat, the mat, the mat",
    "\u039f\u0394\u039f\u03a3 \u03bf\u03b4\u03cc\u03c2 \u03a3\u03a3 \u0130stanbul \u0130ZM\u0130R Stra\u00dfe STRASSE",
    "",
    "caf\u00e9 cafe\u0301 na\u00efve e\u0301te\u0301 \u0939\u093f\u0928\u094d\u0926\u0940 \u65e5\u672c\u8a9e \ud55c\uad6d\uc5b4",
    "x\u00b2 x\u00b2y \u00bd\u00be \u2167\u2168 \u2460\u2461 \u0661\u0662 3.14 a_b __ _ -- ...",
    "the the the the the the a I",
    "mat\u00a0sat\u2003on\u200bdog\ufeffate\u00adcat\tdog\ncat",
    "\U0001d400\U0001d401 \U0001f600\U0001f600 \ufb01\ufb02 \u01c4\u01c5 \u00aa\u00ba \u24d0\u24d1",
    "dog ate mat; cat sat on dog",
]
NEW = [
    "the dog on the mat and a platypus",
    "nothing known herein",
    "",
    "\u03bf\u03b4\u03cc\u03c2 caf\u00e9 y2k y2k \u00fcn\u00efcode_2",
]
STOPS = ["the", "and", "on", "x\u00b2"]
VOCABULARY = ["mat", "cat", "platypus", "the", "dog ate", "\u03c3\u03c2", "caf\u00e9"]


def rows(matrix):
    matrix = matrix.tocsr()
    matrix.sort_indices()
    bounds = zip(matrix.indptr, matrix.indptr[1:])
    return [
        [[int(c), float(v)] for c, v in zip(matrix.indices[a:b], matrix.data[a:b])]
        for a, b in bounds
    ]


def frequency(bound):
    return {"count": bound} if isinstance(bound, int) else {"fraction": bound}


def tfidf_case(rng):
    tf = rng.choice(["count", "sublinear", "binary"])
    idf = rng.choice(["smooth", "plain", "none"])
    norm = rng.choice(["l2", "l1", "none"])
    min_df = rng.choice([1, 1, 2, 3, 0.1, 0.25])
    max_df = rng.choice([1.0, 1.0, 0.5, 0.3, 4, 3])
    words = rng.choice([(1, 1), (1, 1), (1, 2), (2, 3), (1, 3)])
    stops = rng.choice([[], [], STOPS])
    features = rng.choice([None, None, 3, 7, 20])
    vocabulary = rng.choice([None, None, None, VOCABULARY])
    if vocabulary and idf == "plain":
        idf = "smooth"
    config = {"tf": tf, "idf": idf, "norm": norm, "min_df": frequency(min_df), "max_df": frequency(max_df),
              "min_n": words[0], "max_n": words[1], "stop_words": stops, "max_features": features,
              "vocabulary": vocabulary}
    options = dict(sublinear_tf=tf == "sublinear", binary=tf == "binary", use_idf=idf != "none",
                   smooth_idf=idf == "smooth", norm=None if norm == "none" else norm, min_df=min_df,
                   max_df=max_df, ngram_range=words, stop_words=stops or None, vocabulary=vocabulary)
    case = {"what": "tfidf", "config": config}
    try:
        full = TfidfVectorizer(**options).fit(TEXTS)
        if features and not vocabulary:
            # scikit-learn leaves ties of term frequency open: skip such cases.
            counts = TfidfVectorizer(**{**options, "use_idf": False, "norm": None, "sublinear_tf": False})
            totals = np.sort(np.asarray(counts.fit_transform(TEXTS).sum(axis=0)).ravel())[::-1]
            if features < len(totals) and totals[features - 1] == totals[features]:
                return None
        vectorizer = TfidfVectorizer(max_features=features, **options)
        fitted = vectorizer.fit_transform(TEXTS)
        terms = list(vectorizer.get_feature_names_out())
        case.update(terms=terms, idf=[float(v) for v in vectorizer.idf_] if idf != "none" else None,
                    fitted=rows(fitted), new=rows(vectorizer.transform(NEW)))
    except ValueError as error:
        case["error"] = str(error)
    return case


def folds_case(rng):
    classes = rng.randint(1, 6)
    labels = [rng.choice("edcbafg"[:classes]) for _ in range(rng.randint(2, 40))]
    k = rng.randint(2, 6)
    case = {"what": "folds", "labels": labels, "folds": k}
    try:
        of = [0] * len(labels)
        for fold, (_, test) in enumerate(StratifiedKFold(k).split(labels, labels)):
            for item in test:
                of[item] = fold
        case["of"] = of
    except ValueError as error:
        case["error"] = str(error)
    return case


def knn_case(rng, seed):
    draw = np.random.default_rng(seed)
    n, dim, k, folds = int(draw.integers(40, 120)), int(draw.integers(1, 9)), rng.randint(1, 12), rng.randint(2, 5)
    metric = rng.choice(["euclidean", "cosine"])
    # scikit-learn leaves ties of distance open: random rows have none.
    x = np.round(draw.normal(size=(n, dim + 1)), 6)
    y = [f"c{int(c)}" for c in draw.integers(0, 4, n)]
    sparse = rng.random() < 0.5
    scores = cross_validate(KNeighborsClassifier(k, algorithm="brute", metric=metric),
                             csr_matrix(x) if sparse else x, y, cv=folds)
    return {"what": "knn", "k": k, "folds": folds, "metric": metric, "sparse": sparse,
            "x": x.tolist(), "labels": y, "accuracies": scores["test_score"].tolist()}


def svd_case(seed):
    draw = np.random.default_rng(seed)
    n, dim = int(draw.integers(8, 60)), int(draw.integers(8, 60))
    k = int(draw.integers(1, min(n, dim) // 2))
    x = np.round(draw.normal(size=(n, dim)) * (draw.random((n, dim)) < 0.3), 4)
    x[n // 2] = 0
    x[n // 3] = x[n // 4]
    svd = TruncatedSVD(k, algorithm="arpack", random_state=42).fit(x)
    return {"what": "svd", "k": k, "dim": dim, "x": rows(csr_matrix(x)),
            "singular_values": svd.singular_values_.tolist(), "components": svd.components_.tolist(),
            "transformed": svd.transform(x).tolist()}


def main():
    rng = random.Random(20)
    cases = [{"what": "made with", "sklearn": sklearn.__version__, "numpy": np.__version__,
              "scipy": scipy.__version__, "texts": TEXTS, "new": NEW}]
    tfidf = 0
    while tfidf < 150:
        case = tfidf_case(rng)
        if case:
            cases.append(case)
            tfidf += 1
    cases += [folds_case(rng) for _ in range(200)]
    cases += [knn_case(rng, seed) for seed in range(40)]
    cases += [svd_case(seed) for seed in range(10)]
    lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)
    # No timestamp in the gzip header, so that the output is reproducible.
    with open("golden.jsonl.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(lines.encode())


main()
