"""Search model of MTEB: any system of this package, in ``mteb.evaluate(model, tasks)``."""

from __future__ import annotations

from typing import Any

from mteb.models.model_meta import ModelMeta

from .._irrs import Index, Retriever
from ..systems import System


class SearchModel:
    """Implementation of ``mteb.SearchProtocol``: BM25, or another system.

    Parameters
    ----------
    system : System, optional
        Default: BM25 with k1 = 0.9 and b = 0.4.
    name : str, optional
        Name of the model in results, of the form organization/name.
    cache : path, optional
        Folder that keeps vectors and models of the system. Default: a temporary folder.
    **options
        Options of :meth:`irrs.Index.build`.
    """

    def __init__(
        self, system: System | None = None, name: str = "irrs/bm25", cache: str | None = None, **options: Any
    ) -> None:
        self.system = System("bm25") if system is None else system
        self.name = name
        self.cache = cache
        self.options = options
        self._retriever: Retriever | None = None

    def index(self, corpus: Any, **_: Any) -> None:
        """Index a corpus: rows with id, text and optionally title."""
        fields = ("id", "title", "text")
        rows = ({field: row[field] for field in fields if row.get(field) is not None} for row in corpus)
        index = Index.build(rows, **self.options)
        self._retriever = self.system.open(index, cache=self.cache)

    def search(
        self, queries: Any, *, top_k: int, top_ranked: dict[str, list[str]] | None = None, **_: Any
    ) -> dict[str, dict[str, float]]:
        """Search queries: rows with id and text. ``top_ranked`` lists the candidates of each query, if the task has some."""
        if self._retriever is None:
            raise RuntimeError("expected an indexed corpus, found none: call index first")
        texts = {str(row["id"]): row["text"] for row in queries}
        if top_ranked is None:
            return self._retriever.search(texts, k=top_k).to_dict()
        return {
            query: self._retriever.search(text, k=top_k, filter=top_ranked.get(query, [])).to_dict()
            for query, text in texts.items()
        }

    @property
    def mteb_model_meta(self) -> ModelMeta:
        """Metadata of the model."""
        return ModelMeta.create_empty({"name": self.name, "revision": self.system.to_json(), "framework": []})
