"""HNSW of other libraries on the other side of a pipe, for the bench beside this file.

`peers.py ENGINE FOLDER LINKS BUILD_EFFORT`; ENGINE is hnswlib, usearch or faiss. The first line says
what was built. Then one command a line: `EFFORT` answers with the seconds that all queries took on one
thread, by the clock and of the processor; `answers EFFORT` writes the documents.
"""
import json
import os
import sys
import time

import numpy

engine, folder, links, build_effort = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
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
    index.init_index(count, M=links, ef_construction=build_effort, random_seed=7)
    index.add_items(rows)
    index.set_num_threads(1)

    def search(effort):
        index.set_ef(effort)
        return index.knn_query(queries, k=K, num_threads=1)[0]

    save = index.save_index
elif engine == "usearch":
    import usearch
    from usearch.index import Index

    version = usearch.__version__
    index = Index(ndim=dim, metric="ip", dtype="f32", connectivity=links, expansion_add=build_effort)
    index.add(numpy.arange(count), rows)
    version += f", {index.hardware_acceleration}"

    def search(effort):
        index.expansion_search = effort
        return index.search(queries, K, threads=1).keys

    save = index.save
else:
    import faiss

    version = faiss.__version__
    index = faiss.IndexHNSWFlat(dim, links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = build_effort
    index.add(rows)
    faiss.omp_set_num_threads(1)

    def search(effort):
        index.hnsw.efSearch = effort
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
