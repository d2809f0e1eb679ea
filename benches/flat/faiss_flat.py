"""FAISS's IndexFlatIP on the other side of a pipe, for the bench beside this file.

One command a line: `K THREADS HOW`, HOW being `single` or `batch`; the answer is one line of JSON
with the seconds that it took by the clock and of the processor (of this thread).
`answers K PATH` writes the documents and the scores.
"""
import json
import sys
import time

import faiss
import numpy

folder, singles = sys.argv[1], int(sys.argv[2])
rows = numpy.load(f"{folder}/rows.npy")
queries = numpy.load(f"{folder}/queries.npy")
index = faiss.IndexFlatIP(rows.shape[1])
index.add(rows)
print(json.dumps({"version": faiss.__version__, "options": faiss.get_compile_options()}), flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "answers":
        scores, docs = index.search(queries, int(words[1]))
        numpy.save(f"{folder}/scores.npy", scores)
        numpy.save(f"{folder}/docs.npy", docs.astype(numpy.int32))
        print("{}", flush=True)
        continue
    k, threads, how = int(words[0]), int(words[1]), words[2]
    faiss.omp_set_num_threads(threads)
    wall, cpu = time.perf_counter(), time.thread_time()
    if how == "batch":
        index.search(queries, k)
    else:
        for query in range(singles):
            index.search(queries[query : query + 1], k)
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.thread_time() - cpu}), flush=True)
