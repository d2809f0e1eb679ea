"""Experiments of files."""

import json

import pytest

import irrs

EXPERIMENT = """
measures = ["nDCG@10", "AP"]

[[tasks]]
collection = "bundled"

[[systems]]
name = "BM25"
type = "bm25"

[[systems]]
name = "k1"
type = "bm25"
k1 = 0.2
"""


def test_experiment(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    results = irrs.run_experiment(path, cache=tmp_path / "cache")
    assert results.tasks == ["bundled"]
    value = results.value("bundled", "BM25", "nDCG@10")
    assert 0 < value < 1
    assert results.value("bundled", "BM25", "ndcg_cut_10") == value
    assert list((tmp_path / "cache").rglob("*.ir"))
    assert irrs.run_experiment(EXPERIMENT).value("bundled", "BM25", "nDCG@10") == value
    assert "BM25" in results.to_text() and "tabular" in results.to_latex()
    assert json.loads(results.to_json())["tasks"]
    written = results.save(tmp_path / "output", ["text", "json"])
    assert sorted(path.name for path in written) == ["results.json", "table.txt"]
    assert (tmp_path / "output" / "table.txt").read_text() == results.to_text()
    with pytest.raises(KeyError):
        results.value("bundled", "absent", "AP")
    with pytest.raises(irrs.IrError, match="formats: unknown variant"):
        results.save(tmp_path / "output", ["pdf"])


def test_errors_name_file_line_and_key(tmp_path):
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT.replace("k1 = 0.2", "k2 = 0.2"))
    with pytest.raises(irrs.IrError, match=r"experiment.toml:14: systems\[1\].k2: unknown key"):
        irrs.run_experiment(path)
    with pytest.raises(FileNotFoundError):
        irrs.run_experiment(tmp_path / "absent.toml")
