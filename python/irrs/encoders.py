"""Encoders and cross-encoders, with the names of sentence-transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _irrs
from ._progress import Progress

PathLike = str | os.PathLike[str]


def _texts(texts: Any, name: str) -> tuple[list[str], bool]:
    """Return texts as a list, and True for a single one."""
    is_single = isinstance(texts, str)
    found = [texts] if is_single else list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"{name}: expected a string in row {row}, found {text!r} ({type(text).__name__})")
    return found, is_single


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class Encoder:
    """Encoder of texts as vectors: a model folder in the layout of sentence-transformers.

    Parameters
    ----------
    model : path or str
        Folder, or the name of a model in the cache of the Hugging Face hub. Nothing is downloaded.
    pooling : str, optional
        "cls", "mean", "max", ... Default: as in the folder.
    normalize : bool, optional
        L2-normalize the vectors. Default: as in the folder.
    precision : str
        "f32", "bf16" or "int8".
    max_tokens, query_max_tokens : int, optional
        Maximum sequence length, of all texts or of queries alone.
    query_prompt, document_prompt : str, optional
        Prompt of every query or document. Default: as in the folder.
    batch_tokens : int, optional
        Token budget of a batch; results do not depend on it.
    threads : int, optional
        Number of threads. Default: one per core.
    """

    def __init__(
        self,
        model: PathLike,
        *,
        pooling: str | None = None,
        normalize: bool | None = None,
        precision: str = "f32",
        max_tokens: int | None = None,
        query_max_tokens: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        batch_tokens: int | None = None,
        threads: int | None = None,
    ) -> None:
        limit = max_tokens if query_max_tokens is None else query_max_tokens
        self._config = _without_none(
            {
                "pooling": pooling,
                "normalize": normalize,
                "precision": precision,
                "batch_tokens": batch_tokens,
                "query": _without_none({"prefix": query_prompt, "max_tokens": limit}),
                "document": _without_none({"prefix": document_prompt, "max_tokens": max_tokens}),
            }
        )
        self.model = os.fspath(model)
        self.threads = threads
        self._encoder = _irrs.Encoder(self.model, json.dumps(self._config))

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "config": self._config, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.model, self._config, self.threads = state["model"], state["config"], state["threads"]
        self._encoder = _irrs.Encoder(self.model, json.dumps(self._config))

    def _encode(self, texts: Any, side: str, progress: Progress | bool | None) -> NDArray[np.float32]:
        found, is_single = _texts(texts, "texts")
        vectors = self._encoder.encode(found, side, self.threads, progress)
        return vectors[0] if is_single else vectors

    def encode(self, texts: str | Iterable[str], *, progress: Progress | bool | None = None) -> NDArray[np.float32]:
        """Encode texts without a prompt, as ``SentenceTransformer.encode``.

        Returns
        -------
        numpy.ndarray of float32
            Shape [texts, dim], or [dim] for a single text.
        """
        return self._encode(texts, "", progress)

    def encode_query(self, texts: str | Iterable[str], *, progress: Progress | bool | None = None) -> NDArray[np.float32]:
        """Encode queries, with their prompt. Returns float32 of shape [texts, dim], or [dim] for a single text."""
        return self._encode(texts, "query", progress)

    def encode_document(
        self, texts: str | Iterable[str], *, progress: Progress | bool | None = None
    ) -> NDArray[np.float32]:
        """Encode documents, with their prompt. Returns float32 of shape [texts, dim], or [dim] for a single text."""
        return self._encode(texts, "document", progress)

    @property
    def similarity_fn_name(self) -> str:
        """Similarity function of the model: "cosine" or "dot". Default: cosine, as in sentence-transformers."""
        return self._encoder.similarity or "cosine"

    def similarity(self, a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the similarities of all pairs of vectors of shapes [m, dim] and [n, dim]: float32 of shape [m, n]."""
        left, right = (np.atleast_2d(np.asarray(side, dtype=np.float32)) for side in (a, b))
        if left.shape[1] != right.shape[1]:
            raise ValueError(f"expected vectors of the same dimension, found {left.shape[1]} and {right.shape[1]}")
        if self.similarity_fn_name == "cosine":
            left, right = (
                side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), np.float32(1e-12)) for side in (left, right)
            )
        product: NDArray[np.float32] = left @ right.T
        return product

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._encoder.dim

    def get_sentence_embedding_dimension(self) -> int:
        """Return the dimension of the vectors."""
        return self.dim

    @property
    def prompts(self) -> dict[str, str]:
        """Prompts of queries and documents."""
        query, document = self._encoder.prompts
        return {"query": query, "document": document}

    @property
    def max_tokens(self) -> dict[str, int]:
        """Maximum sequence lengths of queries and documents."""
        query, document = self._encoder.max_tokens
        return {"query": query, "document": document}

    @property
    def truncated(self) -> dict[str, int]:
        """Numbers of queries and documents that were truncated so far."""
        query, document = self._encoder.truncated
        return {"query": query, "document": document}

    @property
    def notes(self) -> list[str]:
        """Defaults that the folder does not state."""
        return self._encoder.notes

    def save(self, folder: PathLike) -> None:
        """Write the model as a folder that sentence-transformers reads."""
        self._encoder.save(os.fspath(folder))

    def __repr__(self) -> str:
        return f"Encoder({self.model!r}, dim={self.dim})"


class CrossEncoder:
    """Cross-encoder: scores pairs of query and document.

    Parameters
    ----------
    model : path or str
        Folder, or the name of a model in the cache of the Hugging Face hub. Nothing is downloaded.
    precision : str
        "f32", "bf16" or "int8".
    max_tokens : int, optional
        Maximum sequence length of a pair. Default: as in the folder.
    windows : str
        What is scored of a document that is too long: "first" window, "maximum" or "mean" of all windows.
    prompt : str, optional
        Prompt of every query.
    activation : str, optional
        Activation function of the scores. Default: as in the folder.
    threads : int, optional
        Number of threads. Default: one per core.
    """

    def __init__(
        self,
        model: PathLike,
        *,
        precision: str = "f32",
        max_tokens: int | None = None,
        windows: str = "first",
        prompt: str | None = None,
        activation: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._config = _without_none(
            {
                "precision": precision,
                "max_tokens": max_tokens,
                "windows": windows,
                "prompt": prompt,
                "activation": activation,
            }
        )
        self.model = os.fspath(model)
        self.threads = threads
        self._encoder = _irrs.CrossEncoder(self.model, json.dumps(self._config))

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "config": self._config, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.model, self._config, self.threads = state["model"], state["config"], state["threads"]
        self._encoder = _irrs.CrossEncoder(self.model, json.dumps(self._config))

    def predict(
        self, pairs: Sequence[tuple[str, str]] | Sequence[Sequence[str]], *, progress: Progress | bool | None = None
    ) -> NDArray[np.float32]:
        """Return the scores of pairs.

        Returns
        -------
        numpy.ndarray of float32
            Shape [pairs]; [pairs, labels] for a model of several labels.
        """
        found = []
        for row, pair in enumerate(pairs):
            if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
                raise TypeError(f"pairs: expected a query and a document in row {row}, found {pair!r}")
            found.append((pair[0], pair[1]))
        scores = self._encoder.predict(found, self.threads, progress)
        return scores[:, 0] if self._encoder.labels == 1 else scores

    def rank(
        self,
        query: str,
        documents: Sequence[str],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        progress: Progress | bool | None = None,
    ) -> list[dict[str, Any]]:
        """Rank documents for a query, as ``CrossEncoder.rank`` of sentence-transformers.

        Returns
        -------
        list of dict
            ``corpus_id`` (position in ``documents``), ``score`` and, with ``return_documents``, ``text``; best first.
        """
        if self._encoder.labels != 1:
            raise ValueError(f"expected a model of one label, found {self._encoder.labels}")
        scores = self.predict([(query, document) for document in documents], progress=progress)
        order = np.argsort(-scores, kind="stable")[:top_k]
        ranked: list[dict[str, Any]] = []
        for position in order.tolist():
            entry: dict[str, Any] = {"corpus_id": position, "score": float(scores[position])}
            if return_documents:
                entry["text"] = documents[position]
            ranked.append(entry)
        return ranked

    def __repr__(self) -> str:
        return f"CrossEncoder({self.model!r}, labels={self._encoder.labels})"
