"""Files and timing shared by the Python peers."""

import json
import time


def queries(folder, prepare):
    """Pairs of a kind and the query that `prepare` makes of a list of terms."""
    with open(folder / "queries.txt", encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("\t") for line in lines)
        return [(kind, prepare(terms.split())) for kind, terms in pairs]


def peak():
    """Peak resident memory in bytes."""
    with open("/proc/self/status", encoding="utf-8") as lines:
        found = (int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        return next(found, 0) * 1024


def latencies(queries, search):
    """CPU time, best of three passes per query, after a warm-up pass."""
    for kind in dict.fromkeys(kind for kind, _ in queries):
        some = [query for other, query in queries if other == kind]
        for k in (10, 1000):
            best = [float("inf")] * len(some)
            for turn in range(-1, 3):
                for at, query in enumerate(some):
                    start = time.thread_time()
                    search(query, k)
                    if turn >= 0:
                        best[at] = min(best[at], (time.thread_time() - start) * 1e3)
            best.sort()
            mean = sum(best) / len(best)
            yield {
                "kind": kind,
                "k": k,
                "queries": len(best),
                "mean_ms": mean,
                "p99_ms": best[len(best) * 99 // 100],
            }


def batch_rate(queries, search_all):
    """Queries per CPU second, best of three passes after a warm-up."""
    some = [query for _, query in queries]
    search_all(some)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        search_all(some)
        best = min(best, time.process_time() - start)
    return len(some) / best


def finish(name, index_seconds, index, queries, search, hits, search_all):
    """Ranks and times the queries, and prints the measurements.

    The scores of both peers differ from Lucene's: by the idf, or by the lengths.
    """
    measured = {
        "name": name,
        "index_seconds": index_seconds,
        "index_bytes": sum(file.stat().st_size for file in index.rglob("*") if file.is_file()),
        "index_peak": peak(),
        "top": [hits(query, 10) for _, query in queries],
        "latencies": list(latencies(queries, search)),
        "batch_rate": batch_rate(queries, search_all),
        "has_other_scores": True,
    }
    print(json.dumps(measured))
