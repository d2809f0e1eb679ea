"""Retrievers, rerankers and indexers of PyTerrier.

>>> import pandas as pd
>>> import irrs
>>> from irrs.integrations.pyterrier import Searcher
>>> index = irrs.Index.build([{"docno": "d1", "text": "green tea"}, {"docno": "d2", "text": "milk"}])
>>> Searcher(index, num_results=5)(pd.DataFrame([{"qid": "q1", "query": "tea"}]))[["qid", "docno", "rank"]].values.tolist()
[['q1', 'd1', 0]]
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt

from .._irrs import Index, Retriever
from ..encoders import CrossEncoder as _CrossEncoder
from ..encoders import Encoder as _Encoder
from ..systems import System

#: File of an index in the folder of an artifact, and the file by which PyTerrier finds its class.
INDEX_FILE, METADATA_FILE = "index.ir", "pt_meta.json"

#: Columns of results that a retriever writes; the other columns of queries are kept.
RESULT_COLUMNS = ["docno", "score", "rank"]


class Searcher(pt.Transformer):  # type: ignore[misc]
    """Retriever: BM25 of an index, or any system that is open on it.

    Parameters
    ----------
    retriever : Index or Retriever
    num_results : int
        Maximum number of results per query.
    """

    def __init__(self, retriever: Index | Retriever, num_results: int = 1000) -> None:
        self.retriever = retriever
        self.num_results = num_results

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Search queries: columns qid and query. Returns docno, score and rank (from 0) beside them."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        kept = inp.drop(columns=[name for name in RESULT_COLUMNS if name in inp.columns])
        results = self.retriever.search(kept["query"].tolist(), k=self.num_results)
        columns = results.to_columns()
        rows = np.asarray([int(row) for row in columns["qid"]], dtype=np.int64)
        found = kept.iloc[rows].reset_index(drop=True)
        found["docno"] = pd.Series(columns["docno"], dtype=object)
        found["score"] = columns["score"]
        found["rank"] = columns["rank"]
        return found

    def fuse_rank_cutoff(self, k: int) -> pt.Transformer | None:
        """Return a retriever of at most k results, for the operator %."""
        return Searcher(self.retriever, k) if k < self.num_results else None

    def __repr__(self) -> str:
        return "Searcher()"


class Reranker(pt.Transformer):  # type: ignore[misc]
    """Reranker: a cross-encoder scores the texts of results.

    Parameters
    ----------
    model : irrs.CrossEncoder, path or str
    text_field : str
        Column of the texts.
    """

    def __init__(self, model: _CrossEncoder | str | os.PathLike[str], text_field: str = "text") -> None:
        self.model = model if isinstance(model, _CrossEncoder) else _CrossEncoder(model)
        self.text_field = text_field

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Score pairs of query and text, and rank them anew."""
        pt.validate.result_frame(inp, extra_columns=["query", self.text_field])
        pairs = list(zip(inp["query"].tolist(), inp[self.text_field].tolist()))
        scores = self.model.predict(pairs) if pairs else np.zeros(0, dtype=np.float32)
        return pt.model.add_ranks(inp.assign(score=scores.astype(np.float64)))

    def __repr__(self) -> str:
        return "Reranker()"


class QueryEncoder(pt.Transformer):  # type: ignore[misc]
    """Encoder of queries: adds the column query_vec.

    Parameters
    ----------
    model : irrs.Encoder, path or str
    """

    def __init__(self, model: _Encoder | str | os.PathLike[str]) -> None:
        self.model = model if isinstance(model, _Encoder) else _Encoder(model)

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Encode the column query."""
        pt.validate.columns(inp, includes=["query"])
        vectors = self.model.encode_query(inp["query"].tolist())
        return inp.assign(query_vec=pd.Series(list(vectors), index=inp.index, dtype=object))

    def __repr__(self) -> str:
        return "QueryEncoder()"


class BM25Index(pt.Artifact, pt.Indexer):  # type: ignore[misc]
    """Index of PyTerrier: a folder.

    Parameters
    ----------
    path : path
        Folder of the index.
    **options
        Options of :meth:`irrs.Index.build`.

    Examples
    --------
    >>> import tempfile
    >>> from irrs.integrations.pyterrier import BM25Index
    >>> folder = tempfile.TemporaryDirectory()
    >>> index = BM25Index(folder.name).index([{"docno": "d1", "text": "green tea"}])
    >>> index.bm25().search("tea")["docno"].tolist()
    ['d1']
    """

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "irrs"
    ARTIFACT_PACKAGE_HINT = "irrs"

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(path)
        self.options = options
        self._open: Index | None = None

    @property
    def _file(self) -> Path:
        return Path(self.path) / INDEX_FILE

    def built(self) -> bool:
        """Return True if the folder contains an index."""
        return self._file.is_file()

    def index_inputs(self) -> list[list[str]]:
        """Return the columns of documents."""
        return [["docno", "text"]]

    def index(self, iter: Iterable[dict[str, Any]], **kwargs: Any) -> BM25Index:
        """Index documents: dictionaries with docno and text. Other keys are attributes."""
        if self.built():
            raise FileExistsError(f"{self._file}: expected no index, found one")
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._open = Index.build(iter, self._file, **self.options)
        metadata = {"type": self.ARTIFACT_TYPE, "format": self.ARTIFACT_FORMAT, "package_hint": self.ARTIFACT_PACKAGE_HINT}
        (self._file.parent / METADATA_FILE).write_text(json.dumps(metadata), encoding="utf-8")
        return self

    def open(self) -> Index:
        """Open the index."""
        if self._open is None:
            self._open = Index.open(self._file)
        return self._open

    def retriever(self, system: System | None = None, num_results: int = 1000, **open_options: Any) -> Searcher:
        """Return a retriever by a system. Default: BM25 with k1 = 0.9 and b = 0.4."""
        index = self.open()
        return Searcher(index if system is None else system.open(index, **open_options), num_results)

    def bm25(self, k1: float = 0.9, b: float = 0.4, num_results: int = 1000) -> Searcher:
        """Return a BM25 retriever."""
        return self.retriever(System("bm25", k1=k1, b=b), num_results)

    def __repr__(self) -> str:
        return "BM25Index()"
