"""PISA on the documents and queries of a folder: `python peer_pisa.py STEP FOLDER`.

Block-max WAND over a SIMD-BP128 index. Terms are replaced by their numbers, which PISA's tokenizer
does not change. The step is `build`, `rank` or `time`. Prints JSON. See engines.rs for the files.
"""

import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import numpy as np
from peer import print_cost, print_searches, queries

# The extension module alone: the package imports PyTerrier.
libraries = (file for place in sys.path for file in Path(place).glob("pyterrier_pisa/_pisathon*.so"))
spec = importlib.util.spec_from_file_location("_pisathon", next(libraries))
pisa = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pisa)

step, folder = sys.argv[1], Path(sys.argv[2])
index = folder / "pisa"
# PISA logs to standard output, which is for the measurements.
output = os.dup(1)
os.dup2(2, 1)
vocabulary = {}
context = pisa.RetrievalContext()


def send(fifo):
    with open(folder / "documents.txt", encoding="utf-8") as lines, open(fifo, "w") as out:
        for number, line in enumerate(lines):
            terms = (vocabulary.setdefault(term, len(vocabulary)) for term in line.split())
            out.write(f"{number} {' '.join(f't{term}' for term in terms)}\n")


def build():
    index.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        fifo = os.path.join(temporary, "documents")
        os.mkfifo(fifo)
        sender = threading.Thread(target=send, args=(fifo,), daemon=True)
        sender.start()
        pisa.index(fifo, str(index), "", 100_000, 1)
        sender.join()
    prepare()


def prepare():
    """Compresses the index and computes the bounds of its blocks, unless files of these exist."""
    pisa.prepare_index(
        context, str(index), "block_simdbp", "bm25", "", stop_fname="", bm25_k1=1.2, bm25_b=0.75
    )


start = time.process_time()
numbers = folder / "pisa.json"
if step == "build":
    build()
    seconds = time.process_time() - start
else:
    vocabulary = json.loads(numbers.read_text())
    prepare()
sys.stdout = os.fdopen(output, "w")


def weights(terms):
    known = (f"t{vocabulary[term]}" for term in terms if term in vocabulary)
    return {term: float(count) for term, count in Counter(known).items()}


def retrieve(queries, k):
    types = (np.int32, object, np.int32, np.float32)
    arrays = [np.empty(k * len(queries), of) for of in types]
    size = pisa.retrieve(
        context,
        "block_max_wand",
        list(enumerate(queries)),
        k=k,
        threads=1,
        pretokenised=True,
        query_weighted=1,
        result_qidxs=arrays[0],
        result_docnos=arrays[1],
        result_ranks=arrays[2],
        result_scores=arrays[3],
    )
    return arrays[1][:size], arrays[3][:size]


def search(query, k):
    return retrieve([query], k)


def hits(query, k):
    return [(int(doc), float(score)) for doc, score in zip(*search(query, k))]


if step == "build":
    print_cost(f"PISA (pyterrier-pisa {version('pyterrier-pisa')})", "other", seconds, index)
    numbers.write_text(json.dumps(vocabulary))
else:
    print_searches(step, queries(folder, weights), search, hits, retrieve)
