"""bm25s on the documents and queries of a folder: `python peer_bm25s.py STEP FOLDER`.

The step is `build`, `rank` or `time`. Prints JSON. See engines.rs for the files.
"""

import sys
import time
from pathlib import Path

import bm25s
from bm25s.tokenization import Tokenized
from peer import print_cost, print_searches, queries

step, folder = sys.argv[1], Path(sys.argv[2])
index = folder / "bm25s"


def build():
    start = time.process_time()
    vocabulary = {}
    ids = []
    with open(folder / "documents.txt", encoding="utf-8") as lines:
        for line in lines:
            terms = line.split(" ") if line != "\n" else []
            ids.append([vocabulary.setdefault(t.rstrip("\n"), len(vocabulary)) for t in terms])
    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    retriever.index(Tokenized(ids=ids, vocab=vocabulary), show_progress=False)
    seconds = time.process_time() - start
    retriever.save(index)
    print_cost(f"bm25s {bm25s.__version__}", "exact_lengths", seconds, index)


def searches():
    retriever = bm25s.BM25.load(index, show_progress=False)
    vocabulary, documents = retriever.vocab_dict, retriever.scores["num_docs"]

    def retrieve(queries, k):
        return retriever.retrieve(
            queries, k=min(k, documents), n_threads=1, show_progress=False, backend_selection="numba"
        )

    def known(terms):
        return [term for term in terms if term in vocabulary]

    def search(query, k):
        if not query:
            return [], []
        docs, scores = retrieve([query], k)
        return docs[0], scores[0]

    def search_all(queries, k):
        """The hits of a batch. Queries without a known term are left out."""
        return retrieve([query for query in queries if query], k)

    def hits(query, k):
        return [(int(doc), float(s)) for doc, s in zip(*search(query, k)) if s > 0]

    print_searches(step, queries(folder, known), search, hits, search_all)


build() if step == "build" else searches()
