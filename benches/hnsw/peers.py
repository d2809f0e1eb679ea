"""Times the HNSW indexes of hnswlib, usearch and FAISS for the benchmark `bench-hnsw`.

    peers.py hnswlib|usearch|faiss FOLDER M EF_CONSTRUCTION

The first output line has the version, build time and file size. Each input line is a request:
`EF_SEARCH` is answered by wall time and CPU time of all queries on one thread, in seconds;
`answers EF_SEARCH` writes the documents to FOLDER.
"""
import json
import os
import sys
import time

import numpy

engine, folder, m, ef_construction = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rows = numpy.load(f"{folder}/rows.npy")
queries = numpy.load(f"{folder}/queries.npy")
count, dim = rows.shape
K = 10
file = f"{folder}/{engine}.index"
wall, cpu = time.perf_counter(), time.process_time()
if engine == "hnswlib":
    import importlib.metadata

    import hnswlib

    version = importlib.metadata.version("hnswlib")
    index = hnswlib.Index(space="ip", dim=dim)
    index.init_index(count, M=m, ef_construction=ef_construction, random_seed=7)
    index.add_items(rows)
    index.set_num_threads(1)

    def search(ef_search):
        index.set_ef(ef_search)
        return index.knn_query(queries, k=K, num_threads=1)[0]

    save = index.save_index
elif engine == "usearch":
    import usearch
    from usearch.index import Index

    version = usearch.__version__
    index = Index(ndim=dim, metric="ip", dtype="f32", connectivity=m, expansion_add=ef_construction)
    index.add(numpy.arange(count), rows)
    version += f", {index.hardware_acceleration}"

    def search(ef_search):
        index.expansion_search = ef_search
        return index.search(queries, K, threads=1).keys

    save = index.save
else:
    import faiss

    version = faiss.__version__
    index = faiss.IndexHNSWFlat(dim, m, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = ef_construction
    index.add(rows)
    faiss.omp_set_num_threads(1)

    def search(ef_search):
        index.hnsw.efSearch = ef_search
        return index.search(queries, K)[1]

    def save(path):
        faiss.write_index(index, path)


wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
save(file)
print(json.dumps({"version": version, "wall": wall, "cpu": cpu, "bytes": os.path.getsize(file)}), flush=True)
for line in sys.stdin:
    words = line.split()
    if words[0] == "answers":
        numpy.save(f"{folder}/docs.npy", numpy.ascontiguousarray(search(int(words[1])), dtype=numpy.int32))
        print("{}", flush=True)
        continue
    wall, cpu = time.perf_counter(), time.process_time()
    search(int(words[0]))
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}), flush=True)
