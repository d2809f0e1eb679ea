"""Times FAISS's IndexFlatIP for the benchmark `bench-flat`.

    faiss_flat.py FOLDER SINGLES

Each input line is a request: `K THREADS MODE`, where MODE is `single` or `batch`, is answered by one
line of JSON with wall time and CPU time (of this thread) in seconds; `answers K` writes documents and
scores to FOLDER.
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
    k, threads, mode = int(words[0]), int(words[1]), words[2]
    faiss.omp_set_num_threads(threads)
    wall, cpu = time.perf_counter(), time.thread_time()
    if mode == "batch":
        index.search(queries, k)
    else:
        for query in range(singles):
            index.search(queries[query : query + 1], k)
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.thread_time() - cpu}), flush=True)
