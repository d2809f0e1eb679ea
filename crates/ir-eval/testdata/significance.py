"""Prints significance.jsonl: what scipy says of random differences, a JSON object per vector.

    python -m venv v && v/bin/pip install scipy==1.17.1 numpy==2.4.6 statsmodels==0.15.0
    v/bin/python significance.py | gzip -9n > significance.jsonl.gz

Seeded, so that it writes the same again. Infinite and undefined numbers are null.
"""

import json
import math
import warnings

import numpy as np
from scipy import stats
from statsmodels.stats.multitest import multipletests

WAYS = ["two-sided", "greater", "less"]
warnings.simplefilter("ignore")
random = np.random.default_rng(20240607)


def clean(number):
    number = float(number)
    return number if math.isfinite(number) else None


def vectors():
    """Random differences: continuous, with ties, with zeros, constant, short and long."""
    for n in [2, 3, 5, 8, 13, 14, 20, 50, 51, 80, 200]:
        for _ in range(6):
            yield np.round(random.normal(0.05, 0.2, n), 6)
        for step in [2, 8, 32]:
            for _ in range(3):
                # Dyadic steps, so that sums are exact: many ties and zeros.
                yield np.round(random.normal(0.1, 0.3, n) * step) / step
            # The same without zeros.
            d = np.round(random.normal(0.1, 0.3, n) * step)
            yield np.where(d == 0, 1, d) / step
        # Ties only to the eye: differences of values with one decimal.
        for _ in range(3):
            yield random.integers(0, 11, n) / 10 - random.integers(0, 11, n) / 10
        # Most queries without a difference.
        d = np.zeros(n)
        d[random.integers(0, n)] = 0.25
        yield d
        yield np.full(n, -0.125)
        yield np.full(n, 0.5) * np.where(np.arange(n) % 2 == 0, 1, -1)


def judge(d):
    out = {"d": [float(x) for x in d]}
    t = stats.ttest_1samp(d, 0)
    interval = t.confidence_interval(0.95)
    out["t"] = [clean(t.statistic)] + [
        clean(stats.ttest_1samp(d, 0, alternative=way).pvalue) for way in WAYS
    ]
    out["interval"] = [clean(interval.low), clean(interval.high)]
    for zeros in ["wilcox", "pratt"]:
        for method in ["auto", "asymptotic"]:
            for correction in [False, True] if method == "asymptotic" else [False]:
                of = [
                    stats.wilcoxon(
                        d, zero_method=zeros, method=method, correction=correction, alternative=way
                    )
                    for way in WAYS
                ]
                name = f"{zeros} {method}" + (" corrected" if correction else "")
                out[name] = [clean(of[0].statistic), clean(of[1].statistic)] + [
                    clean(one.pvalue) for one in of
                ]
    if len(d) <= 8:
        out["signs"] = [
            clean(
                stats.permutation_test(
                    (d,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative=way
                ).pvalue
            )
            for way in WAYS
        ]
    return out


def families():
    """p values of several tests, adjusted by statsmodels."""
    for n in [1, 2, 3, 7, 30]:
        for _ in range(4):
            p = np.round(random.uniform(0, 1, n) ** 3, 6)
            yield {
                "p": [float(x) for x in p],
                "holm": [float(x) for x in multipletests(p, method="holm")[1]],
                "bonferroni": [float(x) for x in multipletests(p, method="bonferroni")[1]],
            }


for d in vectors():
    if np.any(d):
        print(json.dumps(judge(d)))
for family in families():
    print(json.dumps(family))
