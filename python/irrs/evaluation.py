"""Evaluation of runs, comparison of systems, rank fusion."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _inputs
from ._irrs import Comparison, Qrels, Report, Results, Run, compare_reports as _compare, evaluate_file, evaluate_run
from ._irrs import fuse_runs
from ._progress import Progress


def qrels(source: Any, kind: str = "grades") -> Qrels:
    """Build relevance judgments, to evaluate many runs.

    Parameters
    ----------
    source : dict, path, pandas.DataFrame, iterable or Qrels
        A dictionary from query ids to dictionaries from document ids to grades; a file in TREC, BEIR or JSON format; a data
        frame with columns such as query_id, doc_id, relevance; judgments of ir_datasets and ir_measures; an object with
        ``to_dict``, such as ``ranx.Qrels``.
    kind : str
        "grades"; "subtopics" for diversity measures, with a column subtopic or iteration; "strata" for sampled judgments, of
        a file.

    Examples
    --------
    >>> irrs.qrels({"q1": {"d1": 2, "d2": 0}})
    Qrels(1 queries, 2 judgments)
    """
    if isinstance(source, Qrels):
        return source
    if _inputs.is_path(source):
        return Qrels.from_file(os.fspath(source), kind)
    if kind not in ("grades", "subtopics"):
        raise ValueError(f"kind: expected grades or subtopics, found {kind!r}; strata are read from files")
    if _inputs.is_frame(source):
        columns = [_inputs.QUERY_COLUMNS, _inputs.DOC_COLUMNS, _inputs.GRADE_COLUMNS]
        queries, docs, grades = (_inputs.column(source, names, "qrels") for names in columns)
        subtopics = _inputs.column(source, _inputs.SUBTOPIC_COLUMNS, "qrels") if kind == "subtopics" else None
        return Qrels.from_columns(queries, docs, grades, subtopics)
    if not isinstance(source, Mapping) and hasattr(source, "to_dict"):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return Qrels.from_dict(_plain(source))
    if hasattr(source, "qrels_iter"):  # a dataset of ir_datasets
        source = source.qrels_iter()
    queries, docs, grades, subtopics = [], [], [], []
    for row in source:
        queries.append(row.query_id)
        docs.append(row.doc_id)
        grades.append(row.relevance)
        if kind == "subtopics":
            subtopics.append(row.subtopic_id if hasattr(row, "subtopic_id") else row.iteration)
    return Qrels.from_columns(queries, docs, grades, subtopics if kind == "subtopics" else None)


def _plain(source: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return nested mappings as dictionaries."""
    if type(source) is dict and all(type(value) is dict for value in source.values()):
        return source
    return {key: dict(value) if isinstance(value, Mapping) else value for key, value in source.items()}


def run(source: Any, name: str | None = None) -> Run:
    """Build a run: ranked lists of a system.

    Parameters
    ----------
    source : dict, Results, path, pandas.DataFrame, iterable or Run
        A dictionary from query ids to dictionaries from document ids to scores; the results of a search; a TREC file; a data
        frame with columns such as qid, docno, score; scored documents of ir_datasets and ir_measures; an object with
        ``to_dict``, such as ``ranx.Run``.
    name : str, optional
        Name of the system in tables. Default: the name of the object, if it has one.

    Examples
    --------
    >>> irrs.run({"q1": {"d1": 9.5, "d2": 7}}, name="mine")
    Run("mine", 1 queries, 2 results)
    """
    if isinstance(source, Run) or _inputs.is_path(source):
        found = source if isinstance(source, Run) else Run.from_file(os.fspath(source))
        return found if name is None else found.with_name(name)
    if _inputs.is_frame(source):
        columns = [_inputs.QUERY_COLUMNS, _inputs.DOC_COLUMNS, ("score", "sim")]
        queries, docs, scores = (_inputs.column(source, names, "run") for names in columns)
        return Run.from_columns(queries, docs, scores, name or "")
    given = name if name is not None else getattr(source, "name", None)
    tag = given if isinstance(given, str) else ""
    if isinstance(source, Results) or (not isinstance(source, Mapping) and hasattr(source, "to_dict")):
        source = source.to_dict()
    if isinstance(source, Mapping):
        return Run.from_dict(_plain(source), tag)
    if hasattr(source, "scoreddocs_iter"):  # a dataset of ir_datasets
        source = source.scoreddocs_iter()
    queries, docs, scores = [], [], []
    for row in source:
        queries.append(row.query_id)
        docs.append(row.doc_id)
        scores.append(row.score)
    return Run.from_columns(queries, docs, scores, tag)


# Functions with parameters of the same names call them by these.
_qrels, _run = qrels, run


def _measures(measures: Any) -> list[str]:
    """Return names of measures: strings, and objects of ir_measures."""
    if isinstance(measures, str) or not isinstance(measures, Iterable):
        measures = [measures]
    names = [str(measure) for measure in measures]
    if not names:
        raise ValueError("measures: expected at least one, found none")
    return names


def _rules(rules: str | Mapping[str, Any] | None) -> str | None:
    return json.dumps(dict(rules)) if isinstance(rules, Mapping) else rules


def evaluate(
    qrels: Any,
    run: Any,
    measures: Any,
    *,
    rules: str | Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Report:
    """Evaluate a run.

    Parameters
    ----------
    qrels : dict, path, pandas.DataFrame, iterable or Qrels
        Relevance judgments, as in :func:`irrs.qrels`.
    run : dict, Results, path, pandas.DataFrame, iterable or Run
        Ranked lists, as in :func:`irrs.run`. A file is not held in memory.
    measures : str or list of str
        Measures by the names of ir_measures (``nDCG@10``, ``P(rel=2)@5``), trec_eval (``ndcg_cut_10``) or ranx; or objects of
        ir_measures.
    rules : str or dict, optional
        "trec_eval-10" (``trec_eval -c``, the default), "trec_eval-9.0.8", "trec_eval-9.0.4", "pytrec_eval" (32-bit scores), or
        single rules: ``{"missing": "skip", "level": 2}``.
    name : str, optional
        Name of the run in tables.

    Returns
    -------
    Report

    Examples
    --------
    >>> qrels = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
    >>> run = {"q1": {"d2": 9.1, "d1": 8.7}, "q2": {"d3": 4}}
    >>> report = irrs.evaluate(qrels, run, ["nDCG@10", "RR"])
    >>> report.mean
    {'nDCG@10': 0.8154648767857288, 'RR': 0.75}
    >>> report.per_query["q1"]["RR"]
    0.5
    """
    judgments = _qrels(qrels)
    names = _measures(measures)
    if _inputs.is_path(run):
        report = evaluate_file(judgments, os.fspath(run), names, _rules(rules))
    else:
        report = evaluate_run(judgments, _run(run, name), names, _rules(rules))
    return report if name is None else report.with_name(name)


def compare(
    qrels: Any,
    runs: Mapping[str, Any] | Sequence[Any],
    measures: Any,
    *,
    rules: str | Mapping[str, Any] | None = None,
    **options: Any,
) -> Comparison:
    """Compare systems on the same queries: scores, confidence intervals, significance tests, effect sizes.

    Parameters
    ----------
    qrels, measures, rules
        As in :func:`irrs.evaluate`.
    runs : dict or list
        Runs by the names of their systems; or a list of files or runs with names. The first is the baseline.
    **options
        Options of :func:`irrs.compare_reports`.

    Examples
    --------
    >>> qrels = {f"q{n}": {"d": 1} for n in range(30)}
    >>> old = {f"q{n}": {"d": 1, "x": n % 3} for n in range(30)}
    >>> new = {f"q{n}": {"d": 3, "x": n % 3} for n in range(30)}
    >>> comparison = irrs.compare(qrels, {"old": old, "new": new}, ["RR"])
    >>> comparison.score("new", "RR")
    1.0
    """
    judgments = _qrels(qrels)
    if isinstance(runs, Mapping):
        reports = [evaluate(judgments, lists, measures, rules=rules, name=name) for name, lists in runs.items()]
    else:
        reports = [evaluate(judgments, lists, measures, rules=rules) for lists in runs]
    return compare_reports(reports, **options)


def compare_reports(
    reports: Sequence[Report],
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    test: str = "t",
    alternative: str | None = None,
    correction: str = "holm",
    family: str = "measure",
    level: float = 0.05,
    samples: int | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Compare reports of the same judgments, measures and rules.

    Parameters
    ----------
    reports : list of Report
    baseline : str, optional
        Name of the system that all others are compared with. Default: the first.
    all_pairs : bool
        Compare every pair of systems instead.
    test : str
        "t" (paired), "wilcoxon", "randomization" (Fisher), "bootstrap" or "datafinder".
    alternative : str, optional
        "two-sided", "greater" or "less".
    correction : str
        Correction for multiple testing: "holm", "bonferroni" or "none".
    family : str
        Tests that are corrected together: those of a "measure", or "all".
    level : float
        Significance level.
    samples, seed : int
        Number of random samples and random seed of the tests that draw some.
    progress : callable or bool, optional
        Function of stage, number done and total; True shows a bar of tqdm.
    """
    options = {
        "baseline": baseline,
        "all_pairs": all_pairs,
        "test": test,
        "alternative": alternative,
        "correction": correction,
        "family": family,
        "level": level,
        "samples": samples,
        "seed": seed,
    }
    given = {key: value for key, value in options.items() if value is not None}
    return _compare(list(reports), json.dumps(given), progress)


def fuse(
    runs: Sequence[Any],
    method: str = "rrf",
    *,
    normalization: str | None = None,
    weights: Sequence[float] | None = None,
    k: float | None = None,
    depth: int | None = 1000,
    name: str = "fused",
) -> Run:
    """Fuse runs.

    Parameters
    ----------
    runs : list
        Runs as in :func:`irrs.run`.
    method : str
        "rrf" (reciprocal rank fusion), "combsum", "combmnz", "combanz", "combmax", "combmin", "combmed" or "borda".
    normalization : str, optional
        "min-max", "z-score", "sum" or "none", before the scores of a comb method are combined. Default: "min-max".
    weights : list of float, optional
        Weight of each run. Default: 1 each.
    k : float, optional
        Damping constant of "rrf". Default: 60.
    depth : int, optional
        Maximum number of documents per query. None keeps all.
    name : str
        Name of the run.

    Returns
    -------
    Run

    Examples
    --------
    >>> first, second = {"q": {"a": 3, "b": 2}}, {"q": {"b": 9, "c": 1}}
    >>> list(irrs.fuse([first, second]).to_dict()["q"])
    ['b', 'a', 'c']
    """
    converted = [run(lists) for lists in runs]
    given = None if weights is None else [float(weight) for weight in weights]
    return fuse_runs(converted, method, normalization, given, k, depth, name)
