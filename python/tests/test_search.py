"""Indexes, systems and filters: rankings by hand, inputs of all kinds, bad input."""

import json
import pickle

import numpy as np
import pytest

import irrs
from irrs import systems


def test_search_of_a_text_and_of_several(index):
    hits = index.search("baking bread", k=5)
    assert hits.ids == ["bread"]
    assert list(hits) == [("bread", hits.scores[0])]
    assert (hits.scores.dtype, hits.docs.dtype) == (np.float32, np.uint32)
    assert hits[-1][0] == "bread" and len(hits) == 1
    with pytest.raises(IndexError):
        hits[1]
    results = index.search(["tea", "bread", "coffee"], k=2)
    assert (results.queries, len(results)) == (["0", "1", "2"], 3)
    assert [len(ids) for ids in results.ids] == [2, 1, 0]
    assert results.scores.shape == (3, 2)
    assert results.scores[2].tolist() == [-np.inf, -np.inf]
    assert results.docs[1].tolist() == [index.ids.index("bread"), -1]
    assert results[0].ids == index.search("tea", k=2).ids
    assert results.to_dict()["1"] == {"bread": pytest.approx(float(results.scores[1, 0]))}
    assert "<td>bread</td>" in results._repr_html_()


def test_bm25_score_by_hand():
    documents = [{"id": "a", "text": "tea tea milk"}, {"id": "b", "text": "milk"}]
    index = irrs.Index.build(documents, analyzer="whitespace")
    k1, b, tf, length, mean = 0.9, 0.4, 2, 3, 2
    idf = np.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    expected = idf * tf / (tf + k1 * (1 - b + b * length / mean))
    assert index.search("tea").scores[0] == pytest.approx(expected, rel=1e-6)


def test_queries_of_dictionaries_and_frames(index):
    results = index.search({"q1": "tea", "q2": "bread"}, k=1)
    assert results.queries == ["q1", "q2"]
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"qid": ["q1", "q2"], "query": ["tea", "bread"]})
    assert index.search(frame, k=1).to_dict() == results.to_dict()
    table = index.search(frame, k=2).to_pandas()
    assert list(table.columns) == ["qid", "docno", "score", "rank"]
    assert table["rank"].tolist() == [0, 1, 0]
    with pytest.raises(TypeError, match="query 1: expected a string, found None"):
        index.search(["tea", None])
    with pytest.raises(ValueError, match="expected different ids, found '1' twice"):
        index.search({1: "tea", "1": "bread"})


def test_filters(index):
    def found(filter):
        return sorted(index.search("tea bread", filter=filter).ids)

    assert found(None) == ["bread", "milk", "tea"]
    # A document without the attribute satisfies an inequality.
    assert found("year>=2015") == ["bread", "milk"]
    assert found(index.select("year<2015")) == ["milk", "tea"]
    assert found("year=2012") == ["tea"]
    assert found(["milk", "absent"]) == ["milk"]
    assert found({"milk", "tea"}) == ["milk", "tea"]
    mask = np.array([id == "tea" for id in index.ids])
    assert found(mask) == ["tea"]
    assert found([]) == []
    assert len(index.select("tags=hot")) == 1
    with pytest.raises(irrs.IrError, match="Boolean array of shape \\[3\\], found \\[2\\]"):
        found(mask[:2])
    with pytest.raises(irrs.IrError):
        found("year >>= 2015")
    other = irrs.Index.build([{"id": "x", "text": "x"}])
    with pytest.raises(irrs.IrError, match="a filter of an index of 3 documents, found 1"):
        found(other.select("year>2000"))
    with pytest.raises(TypeError, match="filter: document id: expected a string or an integer, found 1.5"):
        found([1.5])


def test_documents_of_files_frames_and_iterators(tmp_path, notes):
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(note) + "\n" for note in notes))
    expected = irrs.Index.build(notes).search("tea drink").to_dict()
    assert irrs.Index.build(path).search("tea drink").to_dict() == expected
    assert irrs.Index.build(note for note in notes).search("tea drink").to_dict() == expected
    pd = pytest.importorskip("pandas")
    # Missing years are NaN, and missing titles None.
    frame = pd.DataFrame(notes)
    index = irrs.Index.build(frame)
    assert index.search("tea drink").to_dict() == expected
    assert index.document("tea")["year"] == 2012
    assert "year" not in index.document("milk")
    assert index.search("tea bread", filter="year=2020").ids == ["bread"]


def test_warnings_about_documents(tmp_path, caplog):
    path = tmp_path / "docs.trec"
    path.write_bytes(b"<DOC><DOCNO>a</DOCNO><TEXT>te\0a</TEXT></DOC>\n")
    assert irrs.Index.build(path).search("tea").ids == ["a"]
    irrs.Index.build([{"id": "a", "text": "tea", "year": "last"}])
    assert caplog.messages == [
        "documents: 1 NUL bytes skipped",
        '1 documents with an attribute "year" that is neither a year nor a date',
    ]


def test_attributes_of_numpy_and_dates():
    import datetime

    record = {
        "docno": 7,
        "body": "tea",
        "year": np.int64(2012),
        "score": np.float32(0.5),
        "tags": np.array(["a", "b"]),
        "day": datetime.date(2020, 1, 2),
        "none": None,
        "nan": float("nan"),
        "metadata": {"open": True},
    }
    document = irrs.Index.build([record]).document(7)
    assert document == {
        "id": "7",
        "title": "",
        "text": "tea",
        "year": 2012,
        "score": 0.5,
        "tags": ["a", "b"],
        "day": "2020-01-02",
        "open": True,
    }


@pytest.mark.parametrize(
    ("documents", "kind", "text"),
    [
        ([{"text": "x"}], TypeError, "document 0: id: expected one of the keys _id, id, .*, found text"),
        ([{"id": "a"}], TypeError, "document 0: text: expected one of the keys text"),
        ([{"id": "a", "text": "x"}, "b"], TypeError, "document 1: expected a dictionary, found 'b'"),
        ([{"id": "a", "text": 5}], TypeError, "document 0: text: expected a string, found 5"),
        ([{"id": 1.5, "text": "x"}], TypeError, "document 0: id: expected a string or an integer, found 1.5"),
        ([{"id": "a", "text": "x", "y": object}], TypeError, "document 0: y: expected a string, number"),
        ([{"id": "a", "text": "x"}] * 2, irrs.IrError, '"a"'),
        ({"a": "x"}, TypeError, "found a dictionary"),
        (7, TypeError, "not iterable"),
    ],
)
def test_bad_documents(documents, kind, text):
    with pytest.raises(kind, match=text):
        irrs.Index.build(documents)


def test_exceptions_of_generators_are_passed_on(tmp_path):
    def documents():
        yield {"id": "a", "text": "x"}
        raise RuntimeError("the source is gone")

    path = tmp_path / "index.ir"
    with pytest.raises(RuntimeError, match="the source is gone"):
        irrs.Index.build(documents(), path)
    assert not path.exists()
    with pytest.raises(ZeroDivisionError):
        irrs.Index.build([{"id": "a", "text": "x"}], progress=lambda *_: 1 / 0)


def test_saved_closed_and_pickled(tmp_path, index, notes):
    with pytest.raises(TypeError, match="found an index in memory"):
        pickle.dumps(index)
    path = tmp_path / "index.ir"
    index.save(path)
    assert path.read_bytes() == irrs.Index.build(notes, tmp_path / "again.ir").path.read_bytes()
    with irrs.Index.open(path) as opened:
        copy = pickle.loads(pickle.dumps(opened))
        assert copy.search("tea").to_dict() == index.search("tea").to_dict()
        assert "tea" in opened and "x" not in opened and len(opened) == 3
        hits = opened.search("tea")
    assert hits.ids == ["milk", "tea"]  # four and five terms, one of them tea
    assert repr(opened) == "Index(closed)"
    for use in [lambda: opened.search("tea"), lambda: len(opened), lambda: opened.select("year>1")]:
        with pytest.raises(irrs.IrError, match="expected an open index, found a closed one"):
            use()
    with pytest.raises(FileNotFoundError):
        irrs.Index.open(tmp_path / "absent.ir")
    path.write_bytes(b"no index")
    with pytest.raises(irrs.IrError, match="index.ir"):
        irrs.Index.open(path)


def test_options_of_an_index(notes):
    index = irrs.Index.build(notes, fields=["title", "tags"], store="nothing", order="insertion")
    assert index.search("hot").ids == ["tea"]
    assert index.ids == ["tea", "bread", "milk"]
    with pytest.raises(irrs.IrError):
        index.document("tea")
    for options, text in [
        ({"store": "some"}, "store: expected one of all, attributes, nothing, found \"some\""),
        ({"fields": "x"}, "fields: expected one of one, text, separate"),
        ({"analyzer": "germanic"}, "analyzer: "),
        ({"analyzer": {"stemmer": "x"}}, "stemmer|analyzer"),
    ]:
        with pytest.raises(irrs.IrError, match=text):
            irrs.Index.build(notes, **options)
    with pytest.raises(KeyError):
        irrs.Index.build(notes).document("absent")


def test_explanation(index):
    score = dict(index.search("green tea"))["tea"]
    text = index.explain("green tea", "tea")
    assert float(text.split()[0]) == pytest.approx(score, rel=1e-5), text
    assert "green" in text
    assert index.explain("bread", "tea") is None


def test_systems(index):
    system = irrs.System("bm25", k1=1.2, b=0.75)
    assert repr(system) == "System('bm25', k1=1.2, b=0.75)"
    assert pickle.loads(pickle.dumps(system)) == system == systems.bm25(k1=1.2, b=0.75)
    default = irrs.System("bm25", k1=0.9, b=0.4).open(index)
    assert default.search("tea milk").to_dict() == index.search("tea milk").to_dict()
    hybrid = systems.hybrid(of=[system, irrs.System("tfidf"), irrs.System("bm25")], fusion="rrf")
    retriever = hybrid.open(index)
    assert sorted(retriever.search("tea").ids) == ["milk", "tea"]
    assert retriever.search("tea", filter="year=2012").ids == ["tea"]
    assert 'type = "tfidf"' in hybrid.to_toml()
    reranked = irrs.System("rerank", first=system, second=irrs.System("tfidf"), depth=2)
    assert reranked.open(index).max_hits == 2


def test_signatures_and_documentation_of_systems():
    import inspect

    assert {"bm25", "dense", "hybrid", "rerank"} <= irrs.System.types().keys()
    for type in irrs.System.types():
        function = getattr(systems, type.replace("-", "_"))
        documentation = irrs.System.describe(type)
        assert function.__doc__ == documentation
        for name in inspect.signature(function).parameters:
            assert name == "name" or f"\n{name} : " in documentation
    assert "k1" in inspect.signature(systems.bm25).parameters
    assert "Range: ≥ 0" in " ".join(irrs.System.describe("bm25").split())
    assert "bm25" in dir(systems)
    with pytest.raises(AttributeError):
        systems.bm26


@pytest.mark.parametrize(
    ("type", "parameters", "text"),
    [
        ("bm26", {}, 'expected a type of systems .*, found "bm26"'),
        ("bm25", {"k2": 1}, "k2: unknown key"),
        ("bm25", {"k1": -1}, "k1"),
        ("bm25", {"k1": "x"}, "k1"),
        ("hybrid", {"of": ["absent", "absent2"]}, "absent"),
    ],
)
def test_bad_systems(type, parameters, text):
    with pytest.raises(irrs.IrError, match=text):
        irrs.System(type, **parameters)


def test_arguments_of_systems_are_checked():
    with pytest.raises(TypeError, match="expected a string, number"):
        irrs.System("bm25", k1=object())
    assert irrs.System("bm25", k1=np.float64(1.5)) == irrs.System("bm25", k1=1.5)
