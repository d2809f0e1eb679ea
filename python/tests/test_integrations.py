"""Classes for other packages, each with the tests or values of its package."""

import random

import numpy as np
import pytest

import irrs


def test_ir_measures():
    ir_measures = pytest.importorskip("ir_measures")
    from ir_measures import AP, RR, Bpref, Judged, NumRet, P, R, Rprec, SetF, Success, nDCG

    from irrs.integrations.ir_measures import PROVIDER

    assert ir_measures.DefaultPipeline.providers[1] is PROVIDER
    drawn = random.Random(3)
    qrels = {f"q{n}": {f"d{doc}": drawn.randint(0, 2) for doc in drawn.sample(range(50), 15)} for n in range(20)}
    # No ties: the providers order them in different ways.
    scores = lambda: zip(drawn.sample(range(50), 30), drawn.sample(range(100), 30))
    run = {f"q{n}": {f"d{doc}": score / 10 for doc, score in scores()} for n in range(2, 22)}
    measures = [
        AP, AP(rel=2) @ 10, RR, RR @ 3, nDCG, nDCG @ 10, P @ 5, P(rel=2) @ 5, R @ 20, Rprec, Bpref, SetF(beta=2.0), Success @ 1,
        NumRet, Judged @ 10,
    ]  # fmt: skip
    for measure in measures:
        assert PROVIDER.supports(measure), measure
    found = PROVIDER.calc(measures, qrels, run)
    others = [provider for provider in ir_measures.DefaultPipeline.providers if provider is not PROVIDER]
    for measure in measures:
        other = next((it for it in others if it.supports(measure) and it.is_available()), None)
        if other is None:
            continue
        expected = other.calc([measure], qrels, run)
        assert found.aggregated[measure] == pytest.approx(expected.aggregated[measure], abs=1e-9), measure
    assert not PROVIDER.supports(ir_measures.parse_measure("Compat(p=0.8)"))
    # No query in common: every value is the default.
    assert PROVIDER.calc_aggregate([RR], qrels, {"other": {"d1": 1}})[RR] == 0


def test_pyterrier(index, tmp_path):
    pt = pytest.importorskip("pyterrier")
    pd = pytest.importorskip("pandas")
    from irrs.integrations.pyterrier import BM25Index, Searcher

    queries = pd.DataFrame({"qid": ["q1", "q2"], "query": ["tea", "nothing here"], "extra": [1, 2]})
    found = Searcher(index, 5)(queries)
    assert found.columns.tolist() == ["qid", "query", "extra", "docno", "score", "rank"]
    assert found["docno"].tolist() == index.search("tea", k=5).ids
    assert found["rank"].tolist() == list(range(len(found)))
    assert len((Searcher(index, 5) % 1)(queries)) == 1
    empty = Searcher(index)(queries.iloc[:0])
    assert len(empty) == 0 and "docno" in empty.columns
    artifact = BM25Index(tmp_path / "artifact")
    assert not artifact.built()
    artifact.index({"docno": str(n), "text": f"green tea {n}"} for n in range(5))
    assert artifact.built()
    loaded = BM25Index.load(tmp_path / "artifact")
    assert loaded.bm25().search("tea")["docno"].tolist() == artifact.bm25().search("tea")["docno"].tolist()
    assert isinstance(pt.Artifact.load(str(tmp_path / "artifact")), BM25Index)
    with pytest.raises(FileExistsError):
        loaded.index([])
    rr = pt.Experiment(
        [Searcher(index)], queries, pd.DataFrame([{"qid": "q1", "docno": "tea", "label": 1}]), ["recip_rank"]
    )
    assert 0 < rr["recip_rank"].iloc[0] <= 1


def pyterrier_case():
    try:
        from pyterrier.testing import TransformerTestCase
    except ImportError:
        return None

    class SearcherCase(TransformerTestCase):
        @classmethod
        def setUpClass(cls):
            super().setUpClass()
            # Links of schematics are in a file of PyTerrier's site, which tests do not fetch.
            import pyterrier

            pyterrier.documentation._cached_objects_inv = {}

        @staticmethod
        def get_transformer():
            from irrs.integrations.pyterrier import Searcher

            return Searcher(irrs.Index.build([{"id": "tea", "text": "green tea"}]))

    return SearcherCase


TestSearcher = pyterrier_case()


def test_scikit_learn():
    neighbors = pytest.importorskip("sklearn.neighbors")
    from irrs.integrations.sklearn import KNeighborsClassifier

    drawn = np.random.default_rng(0)
    X, y = drawn.normal(size=(200, 6)), drawn.integers(0, 3, size=200)
    rows = drawn.normal(size=(60, 6))
    ours = KNeighborsClassifier(n_neighbors=7).fit(X, y)
    theirs = neighbors.KNeighborsClassifier(n_neighbors=7).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(rows), theirs.predict_proba(rows))
    assert (ours.predict(rows) == theirs.predict(rows)).all()
    assert 0 <= ours.score(rows, y[:60]) <= 1
    X[0] = 0  # the training set is copied
    with pytest.raises(ValueError, match="n_neighbors: expected 1 to 200, found 201"):
        KNeighborsClassifier(n_neighbors=201).fit(X, y)
