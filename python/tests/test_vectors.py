"""Vector indexes over numpy: shared memory, conversions, bad input."""

import pickle

import numpy as np
import pytest

import irrs


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)


@pytest.mark.parametrize("similarity", ["cosine", "inner-product", "euclidean"])
@pytest.mark.parametrize("codes", [False, True])
def test_exact_neighbors(vectors, similarity, codes):
    queries = np.random.default_rng(1).normal(size=(20, 16)).astype(np.float32)
    rows, columns = queries.astype(np.float64), vectors.astype(np.float64)
    expected = {
        "inner-product": rows @ columns.T,
        "cosine": (rows / np.linalg.norm(rows, axis=1)[:, None])
        @ (columns / np.linalg.norm(columns, axis=1)[:, None]).T,
        "euclidean": -((rows[:, None] - columns[None]) ** 2).sum(axis=2),
    }[similarity]
    index = irrs.FlatIndex(vectors, similarity=similarity, codes=codes)
    results = index.search(queries, k=7)
    order = np.argsort(-expected, axis=1)[:, :7]
    assert (results.docs == order).all()
    np.testing.assert_allclose(results.scores, np.take_along_axis(expected, order, axis=1), rtol=1e-5, atol=1e-6)
    assert index.search(queries[3], k=7).docs.tolist() == order[3].tolist()
    assert (index.similarity, index.dim, len(index)) == (similarity, 16, 300)


def test_owned_arrays_are_shared_and_read_only(vectors):
    before = vectors.copy()
    index = irrs.FlatIndex(vectors)
    with pytest.raises(ValueError, match="read-only"):
        vectors[0] = 0
    reference = irrs.FlatIndex(before.tolist())
    del vectors
    assert (index.search(before[:5], k=3).docs == reference.search(before[:5], k=3).docs).all()
    index.close()
    with pytest.raises(irrs.IrError, match="found a closed one"):
        index.search(before[0])


def test_views_are_copied(vectors):
    view = vectors[10:20]
    index = irrs.FlatIndex(view)
    vectors[10:20] = 1.0
    assert index.search(np.arange(16), k=1).ids != [] and not (index.vector("0") == 1.0).all()


def test_mapped_files_are_shared(tmp_path, vectors):
    np.save(tmp_path / "v.npy", vectors)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert irrs.FlatIndex(mapped).search(vectors[4], k=1).ids == ["4"]


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.float64),
        lambda a: a.astype(np.float16),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: a[:, ::-1][:, ::-1],
        lambda a: a.tolist(),
    ],
)
def test_conversions(vectors, convert):
    index = irrs.FlatIndex(convert(vectors))
    assert index.search(convert(vectors[:9]), k=1).docs[:, 0].tolist() == list(range(9))


def test_read_only_queries(vectors):
    query = vectors[2].copy()
    query.flags.writeable = False
    assert irrs.FlatIndex(vectors).search(query, k=1).ids == ["2"]


@pytest.mark.parametrize(
    ("array", "kind", "text"),
    [
        (np.ones(3, dtype=np.float32), ValueError, r"shape \[documents, dim\], found \[3\]"),
        (np.array([["a", "b"]]), TypeError, "expected an array of numbers, found dtype <U1"),
        (np.array([[1j, 2]]), TypeError, "found dtype complex128"),
        (np.array([[None, 2]]), TypeError, "found dtype object"),
        (np.array([[True, False]]), TypeError, "found dtype bool"),
        (np.array([[1.0, np.nan]]), irrs.IrError, "(?i)nan"),
        (np.array([[1.0, 1e300]]), irrs.IrError, "inf"),
        (np.zeros((1, 2)), irrs.IrError, "zero"),
    ],
)
def test_bad_vectors(array, kind, text):
    with pytest.raises(kind, match=text):
        irrs.FlatIndex(array)


def test_bad_queries(vectors):
    index = irrs.FlatIndex(vectors)
    for query, kind in [
        (np.ones(15), irrs.IrError),
        (np.full(16, np.nan), irrs.IrError),
        (np.ones((1, 1, 16)), ValueError),
        (["a"] * 16, TypeError),
    ]:
        with pytest.raises(kind):
            index.search(query)
    with pytest.raises(irrs.IrError, match="similarity: expected one of cosine"):
        irrs.FlatIndex(vectors, similarity="x")
    with pytest.raises(irrs.IrError):
        irrs.FlatIndex(vectors, ids=["a"])
    with pytest.raises(irrs.IrError, match="a vector index has no attributes"):
        index.search(np.ones(16), filter="year>2000")


def test_filters_of_vectors(vectors):
    index = irrs.FlatIndex(vectors)
    mask = np.zeros(300, dtype=bool)
    mask[[5, 9]] = True
    assert sorted(index.search(vectors[0], filter=mask).ids) == ["5", "9"]
    assert index.search(vectors[0], filter=["7"]).ids == ["7"]


def test_graphs(tmp_path, vectors):
    index = irrs.HnswIndex(vectors, seed=3)
    exact = irrs.FlatIndex(vectors).search(vectors[:50], k=5)
    index.ef_search = 300
    assert (index.search(vectors[:50], k=5).docs == exact.docs).mean() > 0.99
    index.save(tmp_path / "graph.ir")
    opened = irrs.HnswIndex.open(tmp_path / "graph.ir", ef_search=300)
    copy = pickle.loads(pickle.dumps(opened))
    assert copy.ef_search == 300
    assert (copy.search(vectors[:50], k=5).docs == index.search(vectors[:50], k=5).docs).all()
    with pytest.raises(irrs.IrError, match="m: expected 2 to"):
        irrs.HnswIndex(vectors, m=1)


def test_saved_vectors(tmp_path, vectors):
    index = irrs.FlatIndex(vectors, ids=[f"d{n}" for n in range(300)])
    with pytest.raises(TypeError, match="found an index in memory"):
        pickle.dumps(index)
    index.save(tmp_path / "vectors.ir")
    opened = pickle.loads(pickle.dumps(irrs.FlatIndex.open(tmp_path / "vectors.ir")))
    assert opened.ids[:2] == ["d0", "d1"]
    np.testing.assert_array_equal(opened.vector("d7"), vectors[7])
