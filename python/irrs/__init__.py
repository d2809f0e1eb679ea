"""Information retrieval: BM25, dense and hybrid search, encoders, rerankers, evaluation with significance tests.

>>> import irrs
>>> index = irrs.Index.build([
...     {"id": "tea", "text": "Green tea is steeped for two minutes."},
...     {"id": "bread", "text": "Bread rises twice before it is baked."},
... ])
>>> results = index.search({"q1": "green tea", "q2": "baking bread"}, k=2)
>>> report = irrs.evaluate({"q1": {"tea": 1}, "q2": {"bread": 1}}, results, ["nDCG@10", "RR"])
>>> report["RR"]
1.0
"""

from ._irrs import (
    Comparison,
    DocFilter,
    ExperimentResults,
    FlatIndex,
    Hits,
    HnswIndex,
    Index,
    IrError,
    Qrels,
    Report,
    Results,
    Retriever,
    Run,
    __version__,
    set_threads,
)
from .encoders import CrossEncoder, Encoder
from .evaluation import compare, compare_reports, evaluate, fuse, qrels, run
from .experiments import run_experiment
from .systems import System
from .training import mine, train

__all__ = [
    "Comparison",
    "CrossEncoder",
    "DocFilter",
    "Encoder",
    "ExperimentResults",
    "FlatIndex",
    "Hits",
    "HnswIndex",
    "Index",
    "IrError",
    "Qrels",
    "Report",
    "Results",
    "Retriever",
    "Run",
    "System",
    "__version__",
    "compare",
    "compare_reports",
    "evaluate",
    "fuse",
    "mine",
    "qrels",
    "run",
    "run_experiment",
    "set_threads",
    "train",
]
