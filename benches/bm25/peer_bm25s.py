"""bm25s on the documents and queries of a folder: `python peer_bm25s.py FOLDER`.

Prints the measurements as JSON. See external.rs for the files.
"""

import sys
import time
from pathlib import Path

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized
from peer import finish, queries

folder = Path(sys.argv[1])
start = time.process_time()
vocabulary = {}
ids = []
with open(folder / "documents.txt", encoding="utf-8") as lines:
    for line in lines:
        terms = line.split(" ") if line != "\n" else []
        ids.append([vocabulary.setdefault(t.rstrip("\n"), len(vocabulary)) for t in terms])
retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
retriever.index(Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
index_seconds = time.process_time() - start
retriever.save(folder / "bm25s")
documents = len(ids)
del ids


def known(terms):
    return [term for term in terms if term in vocabulary]


def search(query, k):
    if not query:
        return [], []
    docs, scores = retriever.retrieve(
        [query], k=min(k, documents), n_threads=1, show_progress=False, backend_selection="numba"
    )
    return docs[0], scores[0]


def search_all(queries):
    """The top 10 of a batch. Queries without a known term are left out."""
    return retriever.retrieve(
        [query for query in queries if query], k=min(10, documents), n_threads=1, show_progress=False, backend_selection="numba"
    )


def hits(query, k):
    return [(int(doc), float(s)) for doc, s in zip(*search(query, k)) if s > 0]


name = f"bm25s {bm25s.__version__}"
finish(name, index_seconds, folder / "bm25s", queries(folder, known), search, hits, search_all)
