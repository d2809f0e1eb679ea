"""Provider of ir_measures. Importing this module puts it in front of the others.

>>> import ir_measures
>>> from ir_measures import nDCG, RR
>>> import irrs.integrations.ir_measures
>>> qrels = {"q1": {"d1": 2}}
>>> run = {"q1": {"d2": 9.1, "d1": 8.7}}
>>> ir_measures.calc_aggregate([RR, nDCG @ 10], qrels, run)[RR]
0.5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import Metric, providers

from .._irrs import IrError, Qrels, Run, evaluate_run, measure_name
from ..evaluation import qrels as _qrels

#: Measures on judgments with subtopics, the column ``iteration``.
DIVERSITY = {"alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall"}

#: Rules of trec_eval 9.0.4, with scores of 32 bits, as in ir_measures' default provider.
RULES = "pytrec_eval"


def _name(measure: Any) -> str:
    """Return the name of a measure in this package. Raise IrError if it has no such measure."""
    if measure.NAME == "RBP" and measure["rel"] is providers.NOT_PROVIDED:
        raise IrError("RBP: expected a relevance level; graded gains are those of cwl_eval")
    return measure_name(str(measure))


class IrrsEvaluator(providers.Evaluator):  # type: ignore[misc]
    """Evaluator of measures on fixed judgments."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        self._groups: list[tuple[Qrels, dict[str, Any]]] = []
        rows = list(ir_measures.util.QrelsConverter(qrels).as_namedtuple_iter())
        measures = list(measures)
        for is_diversity in (False, True):
            group = {_name(it): it for it in measures if (it.NAME in DIVERSITY) is is_diversity}
            if group:
                self._groups.append((_qrels(rows, "subtopics" if is_diversity else "grades"), group))
        self._qids = {row.query_id for row in rows}
        super().__init__(measures, self._qids)

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        lists = ir_measures.util.RunConverter(run).as_dict_of_dict()
        lists = {query: scores for query, scores in lists.items() if query in self._qids}
        if not lists:
            return
        packed = Run.from_dict(lists)
        for judgments, group in self._groups:
            report = evaluate_run(judgments, packed, list(group), RULES)
            for query, values in report.per_query.items():
                for name, value in values.items():
                    yield Metric(query_id=query, measure=group[name], value=value)


class IrrsProvider(providers.Provider):  # type: ignore[misc]
    """Measures of this package."""

    NAME = "irrs"

    def supports(self, measure: Any) -> bool:
        """Return True for a measure with parameters that this package computes."""
        measure.validate_params()
        try:
            _name(measure)
        except IrError:
            return False
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> IrrsEvaluator:
        return IrrsEvaluator(measures, qrels)

    def qrel_inputs(self, measures: Iterable[Any]) -> list[str]:
        """Return the columns of the judgments that measures read."""
        columns = ["query_id", "doc_id", "relevance"]
        return [*columns, "iteration"] if any(measure.NAME in DIVERSITY for measure in measures) else columns


PROVIDER = providers.register(IrrsProvider())


def install() -> None:
    """Put the provider in front of the others of ``ir_measures.DefaultPipeline``."""
    pipeline = ir_measures.DefaultPipeline.providers
    if PROVIDER not in pipeline:
        # Behind `runtime`, the measures that the program has defined.
        pipeline.insert(1, PROVIDER)


install()
