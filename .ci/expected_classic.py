"""Textbook versions of the experiments on old test collections. See `.ci/expected-values`."""
import re
from collections import Counter

import textbook_retrieval as textbook
from textbook_retrieval import read


def smart_records(path):
    """Records of a SMART file: texts by marker, with the id in `I`. A repeated marker does not end the text."""
    records, marker = [], None
    for line in read(path).splitlines():
        found = re.fullmatch(r"\.([A-Z])(?:\s+(\d+))?\s*", line)
        if found and found[1] == "I":
            records.append({"I": found[2]})
            marker = "I"
        elif found and records and found[1] not in records[-1]:
            marker = found[1]
            records[-1][marker] = ""
        elif found:
            continue
        elif records and marker != "I":
            records[-1][marker] = records[-1].get(marker, "") + line + "\n"
    return records


def cranfield():
    """Documents, queries and grades. Judgments count queries from 1; code 1 is the highest grade."""
    documents = [(r["I"], r.get("T", "") + "\n" + r.get("W", "")) for r in smart_records("classic/cranfield/cran.all.1400.zst")]
    queries = {str(n): r["W"] for n, r in enumerate(smart_records("classic/cranfield/cran.qry"), 1)}
    qrels = {}
    for line in read("classic/cranfield/cranqrel").splitlines():
        query, doc, code = line.split()
        # The document that a query was taken from has code -1, which counts as the lowest grade.
        grade = 1 if int(code) < 0 else 5 - int(code)
        qrels.setdefault(query, {})[doc] = grade
    return documents, queries, qrels


def cisi():
    documents = [(r["I"], r.get("T", "") + "\n" + r.get("W", "")) for r in smart_records("classic/cisi/CISI.ALL.zst")]
    queries = {r["I"]: r["W"] for r in smart_records("classic/cisi/CISI.QRY")}
    qrels = {}
    for line in read("classic/cisi/CISI.REL").splitlines():
        query, doc = line.split()[:2]
        qrels.setdefault(query, {})[doc] = 1
    return documents, queries, qrels


def trec_eval_order(index, hits):
    """Ids by descending score; equal scores in descending order of the ids."""
    best = sorted(((round(score, 9), index.ids[n]) for n, score in hits), reverse=True)
    return [name for _, name in best]


LUCENE = textbook.BM25(1.2, 0.75)
MODELS = {
    "BM25": textbook.BM25(),
    "BM25 (Lucene's defaults)": LUCENE,
    "QL, Dirichlet": textbook.LuceneDirichlet(1000),
    "QL, Jelinek-Mercer": textbook.LuceneJelinekMercer(0.1),
    "QL of Indri, Dirichlet": textbook.IndriDirichlet(1000),
    "QL of Indri, Dirichlet, μ 2500": textbook.IndriDirichlet(2500),
    "DFR, PL2": textbook.PL2(),
    "DFR, DPH": textbook.DPH(),
}
GRID = [(textbook.rm3, 5, 10), (textbook.rm3, 10, 20), (textbook.rm3, 10, 50)]
GRID += [(textbook.rocchio, 5, 20), (textbook.rocchio, 10, 50), (textbook.rocchio, 10, 100)]


def classic(collection):
    """Values by task, system and measure of an old test collection."""
    documents, queries, qrels = collection
    index = textbook.Index(documents)

    def evaluate(search):
        values = {}
        for query in qrels:
            hits = search(Counter(textbook.analyze(queries[query])))
            values[query] = textbook.measures(trec_eval_order(index, hits), qrels[query])
        return values

    def expanded(expand, model, **parameters):
        def search(query):
            first = index.search(query, model)
            return index.search(expand(index, query, first, **parameters), model)

        return evaluate(search)

    values = {
        name: textbook.mean(evaluate(lambda query: index.search(query, model)).values()) for name, model in MODELS.items()
    }
    values["BM25 + RM3"] = textbook.mean(expanded(textbook.rm3, MODELS["BM25"]).values())
    values["BM25 + Rocchio"] = textbook.mean(expanded(textbook.rocchio, MODELS["BM25"]).values())
    # For each query, the point with the highest AP over all other queries.
    points = [expanded(expand, LUCENE, docs=docs, terms=terms) for expand, docs, terms in GRID]
    sums = [sum(value["AP"] for value in point.values()) for point in points]
    tuned = []
    for query in qrels:
        others = [total - point[query]["AP"] for total, point in zip(sums, points)]
        tuned.append(points[others.index(max(others))][query])
    values["BM25 + feedback, tuned"] = textbook.mean(tuned)
    return {("", system, measure): value for system, all in values.items() for measure, value in all.items()}
