"""Experiments: collections, systems, grids, measures and a significance test in TOML."""

from __future__ import annotations

import os

from ._irrs import ExperimentResults, run_experiment as _run
from ._progress import Progress


def run_experiment(
    experiment: str | os.PathLike[str],
    *,
    cache: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> ExperimentResults:
    """Run an experiment.

    Parameters
    ----------
    experiment : path or str
        File, or the text of a file, which has more than one line.
    cache : path, optional
        Folder that keeps indexes, vectors, models and runs, so that a second start computes only what changed. Default: a
        temporary folder.
    threads : int, optional
    progress : callable or bool, optional
        Function of stage, number done and total; True shows a bar of tqdm. Messages go to the logger "irrs".

    Examples
    --------
    >>> results = irrs.run_experiment('''
    ... measures = ["nDCG@10"]
    ... [[tasks]]
    ... collection = "bundled"
    ... [[systems]]
    ... name = "BM25"
    ... type = "bm25"
    ... ''')
    >>> results.tasks
    ['bundled']
    >>> 0 < results.value("bundled", "BM25", "nDCG@10") < 1
    True
    """
    is_text = isinstance(experiment, str) and "\n" in experiment
    path = None if is_text else os.fspath(experiment)
    text = str(experiment) if is_text else None
    return _run(path, text, None if cache is None else os.fspath(cache), threads, progress)
