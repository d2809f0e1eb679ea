"""Conversions of objects of Python and of other packages for the extension module."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

PathLike = str | os.PathLike[str]

QUERY_COLUMNS = ("query_id", "qid", "q_id", "query-id", "queryid")
DOC_COLUMNS = ("doc_id", "docno", "docid", "pid", "corpus-id")
TEXT_COLUMNS = ("query", "text", "question", "title")
GRADE_COLUMNS = ("relevance", "label", "rel", "grade", "score")
SUBTOPIC_COLUMNS = ("subtopic", "subtopic_id", "iteration")


def is_path(source: object) -> bool:
    """Return True for a string or a path."""
    return isinstance(source, (str, os.PathLike))


def is_frame(source: object) -> bool:
    """Return True for a pandas data frame. Pandas is not imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def column(frame: Any, names: Iterable[str], what: str) -> list[Any]:
    """Return the values of the first column that exists, as a list."""
    names = tuple(names)
    for name in names:
        if name in frame.columns:
            values: list[Any] = frame[name].tolist()
            return values
    found = ", ".join(map(str, frame.columns))
    raise TypeError(f"{what}: expected one of the columns {', '.join(names)}, found {found}")


def documents(source: Any) -> str | Iterator[Any]:
    """Return a path as a string, or an iterator over dictionaries."""
    if is_path(source):
        return str(os.fspath(source))
    if is_frame(source):
        return _rows(source)
    if isinstance(source, Mapping):
        raise TypeError("documents: expected an iterable of dictionaries, a path or a data frame, found a dictionary")
    if hasattr(source, "docs_iter"):  # a dataset of ir_datasets
        source = source.docs_iter()
    return map(_record, source)


def _rows(frame: Any) -> Iterator[dict[str, Any]]:
    names = [str(name) for name in frame.columns]
    columns = [frame[name] for name in frame.columns]
    for values in zip(*columns):
        yield dict(zip(names, values))


def _record(document: Any) -> Any:
    """Return a document of ir_datasets, a named tuple, as a dictionary."""
    if not hasattr(document, "_asdict"):
        return document
    record = document._asdict()
    if not {"text", "contents", "body", "abstract"} & record.keys() and hasattr(document, "default_text"):
        record["text"] = document.default_text()
    return record


def queries(source: Any) -> tuple[list[str], list[str]]:
    """Return ids and texts of queries."""
    if isinstance(source, Mapping):
        pairs = [(key, text) for key, text in source.items()]
    elif is_frame(source):
        pairs = list(zip(column(source, QUERY_COLUMNS, "queries"), column(source, TEXT_COLUMNS, "queries")))
    else:
        if hasattr(source, "queries_iter"):  # a dataset of ir_datasets
            source = source.queries_iter()
        pairs = []
        for row, query in enumerate(source):
            if hasattr(query, "_asdict"):
                text = query.default_text() if hasattr(query, "default_text") else query.text
                pairs.append((query.query_id, text))
            else:
                pairs.append((str(row), query))
    for key, text in pairs:
        if not isinstance(text, str):
            raise TypeError(f"query {key}: expected a string, found {text!r} ({type(text).__name__})")
    ids = [str(key) for key, _ in pairs]
    if len(set(ids)) < len(ids):
        repeated = next(key for key in ids if ids.count(key) > 1)
        raise ValueError(f"queries: expected different ids, found {repeated!r} twice")
    return ids, [text for _, text in pairs]


def _float32(array: Any, name: str) -> NDArray[np.float32]:
    """Return an array as C-contiguous float32; the same object if it is one."""
    array = np.asanyarray(array)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: expected an array of numbers, found dtype {array.dtype}")
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(array, dtype=np.float32)
    return converted


def _is_constant(array: NDArray[np.float32]) -> bool:
    """Return True if no array of numpy can write to the memory of a read-only array."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return True


def shared_vectors(vectors: Any) -> tuple[NDArray[np.float32], bool]:
    """Return vectors as float32 of shape [documents, dim], and True if an index may share their memory.

    An array that owns its memory becomes read-only. One that is read-only, such as a file that numpy.load maps, stays as
    it is. Other arrays are views of memory that something else may write.
    """
    array = _float32(vectors, "vectors")
    if array.ndim != 2:
        raise ValueError(f"vectors: expected an array of shape [documents, dim], found {list(array.shape)}")
    if array.flags.owndata:
        array.flags.writeable = False
        return array, True
    return array, not array.flags.writeable and _is_constant(array)


def query_vectors(vectors: Any) -> tuple[NDArray[np.float32], bool]:
    """Return vectors as float32 of shape [queries, dim], and True for a single one of shape [dim]."""
    array = _float32(vectors, "queries")
    if array.ndim not in (1, 2):
        raise ValueError(f"queries: expected an array of shape [dim] or [queries, dim], found {list(array.shape)}")
    return np.atleast_2d(array), array.ndim == 1
