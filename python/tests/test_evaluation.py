"""Evaluation: values of pytrec_eval and by hand, inputs of all kinds, bad input."""

import math
import pickle
import random

import pytest

import irrs

pytrec_eval = pytest.importorskip("pytrec_eval")

QRELS = {"q1": {"d1": 2, "d2": 0}, "q2": {"d3": 1}}
RUN = {"q1": {"d2": 9.1, "d1": 8.7}, "q2": {"d3": 4.0}}


def random_collection(seed, queries=30, docs=60):
    drawn = random.Random(seed)
    qrels, run = {}, {}
    for query in range(queries):
        judged = drawn.sample(range(docs), 20)
        qrels[f"q{query}"] = {f"d{doc}": drawn.randint(0, 3) for doc in judged}
        # Scores of one decimal: many ties.
        run[f"q{query}"] = {f"d{doc}": drawn.randint(0, 90) / 10 for doc in drawn.sample(range(docs), 40)}
    return qrels, run


@pytest.mark.parametrize("seed", range(3))
def test_every_measure_of_pytrec_eval(seed):
    qrels, run = random_collection(seed)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures)
    expected = evaluator.evaluate(run)
    names = sorted(next(iter(expected.values())))
    # Sums of logarithms, and names with other numbers than pytrec_eval prints.
    names = [name for name in names if not name.startswith(("gm_", "relstring", "runid"))]
    checked = 0
    for name in names:
        try:
            report = irrs.evaluate(qrels, run, [name], rules="pytrec_eval")
        except irrs.IrError:
            continue
        values = report.per_query
        for query, found in expected.items():
            (value,) = values[query].values()
            assert value == pytest.approx(found[name], abs=1e-12), (name, query)
        checked += 1
    assert checked >= 60, names


def test_by_hand():
    report = irrs.evaluate(QRELS, RUN, ["nDCG@10", "RR", "P@1"])
    assert report["RR"] == 0.75
    assert report["recip_rank"] == 0.75
    assert report["P_1"] == 0.5
    assert report.mean["nDCG@10"] == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert report.per_query["q1"] == {"nDCG@10": pytest.approx(1 / math.log2(3)), "RR": 0.5, "P@1": 0.0}
    assert report.values("RR").tolist() == [0.5, 1.0]
    assert report.queries == ["q1", "q2"]
    assert (report.missing, report.unjudged) == ([], [])
    with pytest.raises(KeyError, match="expected one of"):
        report["AP"]


def test_missing_and_unjudged_queries():
    run = {"q1": RUN["q1"], "other": {"d": 1}}
    report = irrs.evaluate(QRELS, run, "RR")
    assert report["RR"] == 0.25
    assert (report.missing, report.unjudged) == (["q2"], ["other"])
    skipped = irrs.evaluate(QRELS, run, "RR", rules={"missing": "skip"})
    assert skipped["RR"] == 0.5


def test_files(tmp_path):
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n")
    run.write_text("q1 Q0 d2 1 9.1 mine\nq1 Q0 d1 2 8.7 mine\nq2 Q0 d3 1 4 mine\n")
    report = irrs.evaluate(qrels, str(run), ["RR"])
    assert (report.name, report["RR"]) == ("mine", 0.75)
    assert irrs.run(run).to_dict() == RUN
    assert [irrs.run(run).name, irrs.run(run, "other").name, irrs.run(irrs.run(run), "other").name] == ["mine", "other", "other"]
    compressed = tmp_path / "run.gz"
    irrs.run(RUN, name="mine").save(compressed)
    assert irrs.evaluate(qrels, compressed, ["RR"])["RR"] == 0.75


def test_warnings_about_files(tmp_path, caplog):
    run = tmp_path / "run.txt"
    run.write_text("q1 Q0 d2 1 9.1 mine\nq1 Q0 d1 2 8,7 mine\nq2 Q0 d3 1 4 mine\n")
    irrs.evaluate(QRELS, run, ["RR"])
    of_evaluation = list(caplog.messages)
    caplog.clear()
    irrs.run(run)
    assert len(of_evaluation) == 1 and '"8,7" was read as 8' in of_evaluation[0]
    assert caplog.messages == of_evaluation


def test_data_frames():
    pd = pytest.importorskip("pandas")
    rows = [(query, doc, grade) for query, judged in QRELS.items() for doc, grade in judged.items()]
    qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    rows = [(query, doc, score) for query, scores in RUN.items() for doc, score in scores.items()]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"]).sample(frac=1, random_state=0)
    report = irrs.evaluate(qrels, run, ["RR"])
    assert report["RR"] == 0.75
    assert report.to_pandas().loc["q1", "RR"] == 0.5
    # Grades beside missing values are floats.
    qrels["relevance"] = qrels["relevance"].astype(float)
    assert irrs.evaluate(qrels, run, ["RR"])["RR"] == 0.75
    qrels.loc[0, "relevance"] = float("nan")
    with pytest.raises(TypeError, match='query "q1", document "d1": expected an integer as grade, found nan'):
        irrs.evaluate(qrels, run, ["RR"])
    with pytest.raises(TypeError, match="qrels: expected one of the columns query_id"):
        irrs.evaluate(qrels.rename(columns={"query_id": "topic"}), run, ["RR"])


def test_objects_of_other_packages():
    class Ranx:  # as ranx.Qrels and ranx.Run
        def __init__(self, values, name=None):
            self.values, self.name = values, name

        def to_dict(self):
            return self.values

    report = irrs.evaluate(Ranx(QRELS), Ranx(RUN, "mine"), ["mrr", "ndcg@10"])
    assert (report.name, report["RR"]) == ("mine", 0.75)
    ir_measures = pytest.importorskip("ir_measures")
    qrels = [ir_measures.Qrel(q, d, g) for q, judged in QRELS.items() for d, g in judged.items()]
    run = [ir_measures.ScoredDoc(q, d, s) for q, scores in RUN.items() for d, s in scores.items()]
    assert irrs.evaluate(qrels, iter(run), [ir_measures.RR, ir_measures.nDCG @ 10])["RR"] == 0.75


def test_integer_ids_and_scores_of_numpy():
    np = pytest.importorskip("numpy")
    qrels = {1: {10: np.int64(1)}, np.int32(2): {11: 1}}
    run = {1: {10: np.float32(0.5)}, "2": {"12": 7, 11: np.int8(3)}}
    assert irrs.evaluate(qrels, run, "RR")["RR"] == 0.75
    with pytest.raises(irrs.IrError, match='query "1": expected one list, found two'):
        irrs.run({1: {"a": 1}, "1": {"b": 2}})


@pytest.mark.parametrize(
    ("qrels", "run", "kind", "text"),
    [
        ({"q1": {"d1": "2"}}, RUN, TypeError, "expected an integer as grade, found '2' \\(str\\)"),
        ({"q1": {"d1": 1.5}}, RUN, TypeError, "expected an integer as grade, found 1.5 \\(float\\)"),
        ({"q1": {"d1": True}}, RUN, TypeError, "expected an integer as grade, found True"),
        ({"q1": ["d1"]}, RUN, TypeError, 'qrels: query "q1": expected a dictionary'),
        (QRELS, {"q1": {"d1": None}}, TypeError, "expected a number as score, found None"),
        (QRELS, {"q1": {"d1": float("nan")}}, irrs.IrError, "expected a score, found NaN"),
        (QRELS, {1.5: {"d1": 1}}, TypeError, "run: query id: expected a string or an integer, found 1.5"),
        (QRELS, {"other": {"d1": 1}}, irrs.IrError, "expected a query that has both judgments and results"),
        (QRELS, {"q1": {"\ud800": 1}}, UnicodeEncodeError, "surrogates not allowed"),
    ],
)
def test_bad_input(qrels, run, kind, text):
    with pytest.raises(kind, match=text):
        irrs.evaluate(qrels, run, ["RR"])


def test_bad_measures_rules_and_files(tmp_path):
    with pytest.raises(irrs.IrError, match="nDCQ"):
        irrs.evaluate(QRELS, RUN, ["nDCQ@10"])
    with pytest.raises(ValueError, match="measures: expected at least one"):
        irrs.evaluate(QRELS, RUN, [])
    with pytest.raises(irrs.IrError, match="rules: unknown variant `none`"):
        irrs.evaluate(QRELS, RUN, ["RR"], rules={"missing": "none"})
    with pytest.raises(FileNotFoundError, match="absent.txt"):
        irrs.evaluate(tmp_path / "absent.txt", RUN, ["RR"])
    with pytest.raises(FileNotFoundError, match="absent.txt"):
        irrs.evaluate(QRELS, tmp_path / "absent.txt", ["RR"])
    broken = tmp_path / "run.txt"
    broken.write_text("q1 Q0 d2 1 9.1 mine\nq1 Q0\n")
    with pytest.raises(irrs.IrError, match="run.txt:2: "):
        irrs.evaluate(QRELS, broken, ["RR"])


def test_diversity():
    pd = pytest.importorskip("pandas")
    rows = [("q", "d1", 1, "a"), ("q", "d2", 1, "b"), ("q", "d3", 0, "a")]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "iteration"])
    qrels = irrs.qrels(frame, kind="subtopics")
    run = {"q": {"d1": 3, "d3": 2, "d2": 1}}
    report = irrs.evaluate(qrels, run, ["StRecall@1", "StRecall@3"])
    assert (report["StRecall@1"], report["StRecall@3"]) == (0.5, 1.0)
    with pytest.raises(irrs.IrError, match="subtopic"):
        irrs.evaluate({"q": {"d1": 1}}, run, ["StRecall@1"])


def test_comparison():
    qrels = {f"q{n:02}": {"d": 1} for n in range(30)}
    old = {f"q{n:02}": {"d": 1, **{f"x{rank}": 2 + rank for rank in range(n % 3)}} for n in range(30)}
    new = {query: {"e" if query == "q07" else "d": 1} for query in qrels}
    comparison = irrs.compare(qrels, {"old": old, "new": new}, ["RR"])
    frame = comparison.to_pandas()
    row = frame.iloc[0]
    assert (row.system, row.against, row.wins, row.losses) == ("new", "old", 19, 1)
    assert row.significant
    differences = [(0 if n == 7 else 1) - 1 / (1 + n % 3) for n in range(30)]
    mean = sum(differences) / 30
    variance = sum((d - mean) ** 2 for d in differences) / 29
    assert row.difference == pytest.approx(mean)
    assert comparison.score("new", "RR") == pytest.approx(29 / 30)
    stats = pytest.importorskip("scipy.stats")
    t = mean / math.sqrt(variance / 30)
    assert row.p == pytest.approx(2 * stats.t.sf(abs(t), 29), rel=1e-9)
    assert "new" in comparison.to_latex() and "<pre>" in comparison._repr_html_()
    assert pickle.loads(pickle.dumps(comparison)).to_text() == comparison.to_text()
    with pytest.raises(irrs.IrError, match="unknown variant `z`"):
        irrs.compare(qrels, {"old": old, "new": new}, ["RR"], test="z")
    with pytest.raises(irrs.IrError, match="at least 20 random samples"):
        irrs.compare(qrels, {"old": old, "new": new}, ["RR"], test="bootstrap", samples=19)


def test_reports_are_pickled_and_shown():
    report = irrs.evaluate(QRELS, RUN, ["RR"], name="mine")
    copy = pickle.loads(pickle.dumps(report))
    assert (copy.name, copy.mean, copy.rules) == ("mine", report.mean, report.rules)
    assert repr(report) == 'Report("mine", RR: 0.7500)'
    assert "<td>0.7500</td>" in report._repr_html_()
    assert "RR  0.7500" in str(report)


def test_fusion():
    first, second = {"q": {"a": 3, "b": 2}}, {"q": {"b": 9, "c": 1}}
    fused = irrs.fuse([first, second]).to_dict()["q"]
    assert fused == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    fused = irrs.fuse([first, second], "combsum", normalization="min-max", weights=[2, 1]).to_dict()["q"]
    assert fused == pytest.approx({"a": 2.0, "b": 1.0, "c": 0.0})
    # Without a normalization the scores of comb methods are in 0..=1, as in `ir fuse`.
    assert irrs.fuse([first, second], "combsum").to_dict()["q"] == pytest.approx({"a": 1.0, "b": 1.0, "c": 0.0})
    assert len(irrs.fuse([first, second], depth=1).to_dict()["q"]) == 1
    for options, text in [
        ({"method": "x"}, "method: expected one of rrf"),
        ({"k": -1}, "-1"),
        ({"method": "combsum", "k": 60}, "k: expected the method rrf"),
        ({"normalization": "min-max"}, "normalization: expected a comb method"),
        ({"weights": [1]}, "weight"),
        ({"method": "combsum", "normalization": "x"}, "normalization: expected one of"),
    ]:
        with pytest.raises(irrs.IrError, match=text):
            irrs.fuse([first, second], **options)
