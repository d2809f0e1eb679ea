"""Encoders, cross-encoders and training: values of sentence-transformers, recorded in the repository."""

import json
import pathlib
import pickle

import numpy as np
import pytest

import irrs

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "crates" / "ir-dense" / "testdata"
pytestmark = pytest.mark.skipif(not TESTDATA.is_dir(), reason="no checkout of the repository")


def expected(folder):
    return json.loads((TESTDATA / folder / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["bert-dense", "distilbert", "modernbert", "qwen3-bf16", "t5"])
def test_vectors_of_sentence_transformers(name):
    encoder = irrs.Encoder(TESTDATA / "families" / name)
    reference = expected(f"families/{name}")
    vectors = encoder.encode_document(reference["texts"])
    assert vectors.dtype == np.float32 and vectors.shape == (len(reference["texts"]), encoder.dim)
    np.testing.assert_allclose(vectors, np.array(reference["document"]), atol=1e-5)
    if encoder.prompts["document"] == "":
        np.testing.assert_array_equal(encoder.encode(reference["texts"]), vectors)
    single = encoder.encode_document(reference["texts"][0])
    np.testing.assert_array_equal(single, vectors[0])


def test_prompts_limits_and_similarity():
    folder = TESTDATA / "families" / "distilbert"
    plain = irrs.Encoder(folder, normalize=True)
    prompted = irrs.Encoder(folder, normalize=True, query_prompt="query: ", document_prompt="passage: ", max_tokens=16)
    assert prompted.prompts == {"query": "query: ", "document": "passage: "}
    assert prompted.max_tokens == {"query": 16, "document": 16}
    np.testing.assert_array_equal(prompted.encode_query("the ship"), plain.encode("query: the ship"))
    np.testing.assert_array_equal(prompted.encode("the ship"), plain.encode("the ship"))
    prompted.encode_query("ship " * 50)
    assert prompted.truncated == {"query": 1, "document": 0}
    vectors = plain.encode(["the ship", "tea"])
    similarity = plain.similarity(vectors, vectors)
    np.testing.assert_allclose(similarity, vectors @ vectors.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(similarity), 1, atol=1e-6)
    copy = pickle.loads(pickle.dumps(prompted))
    np.testing.assert_array_equal(copy.encode_query("the ship"), prompted.encode_query("the ship"))


def test_bad_encoders(tmp_path):
    with pytest.raises(irrs.IrError, match="expected a model folder"):
        irrs.Encoder(tmp_path / "absent")
    with pytest.raises((irrs.IrError, OSError), match="config.json"):
        irrs.Encoder(tmp_path)
    folder = TESTDATA / "families" / "distilbert"
    with pytest.raises(irrs.IrError, match="unknown variant"):
        irrs.Encoder(folder, precision="f8")
    encoder = irrs.Encoder(folder)
    with pytest.raises(TypeError, match="texts: expected a string in row 1, found None"):
        encoder.encode(["a", None])
    assert encoder.encode([]).shape == (0, encoder.dim)
    with pytest.raises(ValueError, match="same dimension, found 2 and 3"):
        encoder.similarity(np.ones((1, 2)), np.ones((1, 3)))


def test_scores_of_sentence_transformers():
    for name in ["bert", "bert-3-labels"]:
        reference = expected(f"cross-encoders/{name}")
        texts = reference["texts"]
        model = irrs.CrossEncoder(TESTDATA / "cross-encoders" / name)
        pairs = [(texts[query], texts[document]) for query, document in reference["pairs"]]
        scores = np.array(reference["scores"])
        np.testing.assert_allclose(model.predict(pairs), scores[:, 0] if scores.shape[1] == 1 else scores, atol=1e-5)


def test_rank():
    model = irrs.CrossEncoder(TESTDATA / "cross-encoders" / "bert")
    documents = ["the ship left the harbor", "tea", "a boat at sea"]
    scores = model.predict([("ships", document) for document in documents])
    ranked = model.rank("ships", documents, top_k=2, return_documents=True)
    order = sorted(range(3), key=lambda n: -scores[n])[:2]
    assert [entry["corpus_id"] for entry in ranked] == order
    assert [entry["text"] for entry in ranked] == [documents[n] for n in order]
    assert ranked[0]["score"] == scores[order[0]]
    with pytest.raises(TypeError, match="expected a query and a document in row 0"):
        model.predict(["ships"])
    with pytest.raises(ValueError, match="expected a model of one label, found 3"):
        irrs.CrossEncoder(TESTDATA / "cross-encoders" / "bert-3-labels").rank("ships", documents)


def test_dense_systems(index):
    system = irrs.System("dense", encoder={"model": TESTDATA / "families" / "distilbert"})
    retriever = system.open(index)
    assert sorted(retriever.search("tea", k=3).ids) == ["bread", "milk", "tea"]


def test_negatives(index):
    examples = irrs.mine(index, {"q": "green tea", "none": "x"}, {"q": {"tea": 1, "milk": 0}}, hard=1, random=1)
    (example,) = examples
    assert (example["query_id"], example["query"]) == ("q", "green tea")
    assert [text["id"] for text in example["positives"]] == ["tea"]
    assert [text["id"] for text in example["negatives"]] == ["milk", "bread"]
    with pytest.raises(irrs.IrError, match="first rank"):
        irrs.mine(index, {"q": "tea"}, {"q": {"tea": 1}}, first_rank=0)


def test_training(tmp_path):
    model = TESTDATA / "tiny" / "bert"
    examples = [
        {"query": "green tea", "positives": "tea is green", "negatives": ["a ship", {"text": "bread"}]},
        {"query": "ships", "positives": ["a ship at sea"], "negatives": ["tea", "milk"]},
    ]
    options = {"epochs": 2, "batch_size": 2, "hard_negatives": 1, "learning_rate": 1e-3, "seed": 1}
    history = irrs.train(model, tmp_path / "trained", examples, **options)
    assert [step["step"] for step in history["steps"]] == [1, 2]
    trained = irrs.Encoder(tmp_path / "trained")
    assert not np.array_equal(trained.encode("tea"), irrs.Encoder(model).encode("tea"))
    irrs.train(model, tmp_path / "again", examples, **options)
    np.testing.assert_array_equal(irrs.Encoder(tmp_path / "again").encode("tea"), trained.encode("tea"))
    # An exception interrupts after a checkpoint, from which training resumes with the same weights.
    calls = []

    def stop(*_):
        calls.append(1)
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        irrs.train(model, tmp_path / "x", examples, checkpoints=tmp_path / "checkpoints", progress=stop, **options)
    assert calls and not (tmp_path / "x").exists()
    irrs.train(model, tmp_path / "resumed", examples, checkpoints=tmp_path / "checkpoints", **options)
    np.testing.assert_array_equal(irrs.Encoder(tmp_path / "resumed").encode("tea"), trained.encode("tea"))
    for bad, text in [([{"query": ""}], "expected a query"), ([{"query": "x"}], "at least one positive"), ([], "example")]:
        with pytest.raises(irrs.IrError, match=text):
            irrs.train(model, tmp_path / "bad", bad, **options)
    with pytest.raises(irrs.IrError, match="training: unknown field `epoch`"):
        irrs.train(model, tmp_path / "bad", examples, epoch=1)
