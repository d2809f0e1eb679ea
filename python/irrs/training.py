"""Hard negatives, and training of encoders."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _inputs
from ._irrs import Index, mine_negatives, train_encoder
from ._progress import Progress
from .evaluation import qrels as _qrels
from .systems import System


def mine(
    index: Index,
    queries: Any,
    qrels: Any,
    *,
    system: System | None = None,
    hard: int = 7,
    random: int = 0,
    first_rank: int = 1,
    last_rank: int = 500,
    margin: float | None = None,
    level: int = 1,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> list[dict[str, Any]]:
    """Mine hard negatives.

    Parameters
    ----------
    index : Index
        Documents with stored texts.
    queries : dict or pandas.DataFrame
        Ids and texts.
    qrels : dict, path, pandas.DataFrame or Qrels
        Judgments; documents of a grade of at least ``level`` are positives.
    system : System, optional
        System that finds the candidates. Default: BM25.
    hard, random : int
        Numbers of hard and of random negatives per query.
    first_rank, last_rank : int
        Ranks of the candidates.
    margin : float, optional
        Fraction by which a hard negative must score below the worst positive, such as 0.05. Default: no margin.
    level : int
        Relevance level.
    seed : int
        Random seed.
    progress : callable or bool, optional

    Returns
    -------
    list of dict
        Examples for :func:`irrs.train`, and for JSON lines that ``ir train`` reads: ``query_id``, ``query``, ``positives`` and
        ``negatives``, which are lists of ``{"id", "text"}``. Queries without positives in the index are left out.

    Examples
    --------
    >>> index = irrs.Index.build([
    ...     {"id": "tea", "text": "green tea"}, {"id": "black", "text": "black tea"}, {"id": "milk", "text": "milk"}])
    >>> examples = irrs.mine(index, {"q": "green tea"}, {"q": {"tea": 1}}, hard=1)
    >>> examples[0]["negatives"][0]["id"]
    'black'
    """
    ids, texts = _inputs.queries(queries)
    judgments = _qrels(qrels).to_dict()
    positives = [
        [doc for doc, grade in judgments.get(query, {}).items() if grade >= level and doc in index] for query in ids
    ]
    kept = [row for row, docs in enumerate(positives) if docs]
    config: dict[str, Any] = {"hard": hard, "random": random, "first_rank": first_rank, "last_rank": last_rank, "seed": seed}
    if margin is not None:
        config["margin"] = {"relative": margin}
    retriever = (System("bm25") if system is None else system).open(index)
    mined = mine_negatives(
        retriever, [texts[row] for row in kept], [positives[row] for row in kept], json.dumps(config), progress
    )

    def text(doc: str) -> dict[str, str]:
        stored = index.document(doc)
        return {"id": doc, "text": stored["text"]}

    examples = []
    for row, (ranked, drawn) in zip(kept, mined):
        negatives = [text(doc) for doc, _ in ranked] + [text(doc) for doc in drawn]
        examples.append(
            {
                "query_id": ids[row],
                "query": texts[row],
                "positives": [text(doc) for doc in positives[row]],
                "negatives": negatives,
            }
        )
    return examples


def _example(example: Mapping[str, Any]) -> str:
    """Return an example as JSON; texts may be strings."""

    def side(key: str) -> list[Any]:
        found = example.get(key, [])
        found = [found] if isinstance(found, (str, Mapping)) else list(found)
        return [{"text": text} if isinstance(text, str) else dict(text) for text in found]

    record = {key: value for key, value in example.items() if key in ("query_id", "query")}
    return json.dumps({**record, "positives": side("positives"), "negatives": side("negatives")})


def train(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    examples: Iterable[Mapping[str, Any]],
    *,
    checkpoints: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
    **config: Any,
) -> dict[str, Any]:
    """Fine-tune an encoder.

    Parameters
    ----------
    model : path or str
        Folder of the model, or the name of one in the cache of the Hugging Face hub.
    output : path
        Folder that is written, which Encoder and sentence-transformers open.
    examples : iterable of dict
        ``query``, ``positives`` and optionally ``negatives``, each a text, or texts, or ``{"text", "id", "score"}``.
    checkpoints : path, optional
        Folder of checkpoints, from which an interrupted training resumes with the same result. Default: none are written.
    threads : int, optional
    progress : callable or bool, optional
    **config
        Keys of a training configuration: ``epochs``, ``batch_size``, ``learning_rate``, ``hard_negatives``, ``seed``,
        ``loss={"kind": "softmax", "temperature": 0.05}``, ``encoder={"pooling": "cls"}``, ... Defaults suit some hundreds of
        queries.

    Returns
    -------
    dict
        ``steps``: step, epoch, loss, learning rate and gradient norm; ``evaluations``.
    """
    folder = None if checkpoints is None else os.fspath(checkpoints)
    lines = [_example(example) for example in examples]
    history: dict[str, Any] = json.loads(
        train_encoder(os.fspath(model), os.fspath(output), lines, json.dumps(config), folder, threads, progress)
    )
    return history
