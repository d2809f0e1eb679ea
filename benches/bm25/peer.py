"""Files and timing shared by the Python peers."""

import json
import time

KS = (10, 1000)


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
        for k in KS:
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


def batch_rate(queries, search_all, k):
    """Queries per CPU second, best of three passes after a warm-up."""
    some = [query for _, query in queries]
    search_all(some, k)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        search_all(some, k)
        best = min(best, time.process_time() - start)
    return len(some) / best


def print_cost(name, formula, seconds, index):
    """Prints the cost of building the index in a folder. The formulas are those of workload.rs."""
    cost = {
        "name": name,
        "seconds": seconds,
        "bytes": sum(file.stat().st_size for file in index.rglob("*") if file.is_file()),
        "peak": peak(),
        "formula": formula,
    }
    print(json.dumps(cost))


def print_searches(step, queries, search, hits, search_all):
    """Prints the hits of all queries, or their times."""
    if step == "rank":
        found = [[hits(query, k) for _, query in queries] for k in KS]
    else:
        found = {
            "latencies": list(latencies(queries, search)),
            "batch_rates": [batch_rate(queries, search_all, k) for k in KS],
            "peak": peak(),
        }
    print(json.dumps(found))
