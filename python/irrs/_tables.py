"""Tables for notebooks and pandas."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ROWS = 50


def _html(header: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    note = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def results_html(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return the first rows of results as an HTML table."""
    header = list(columns)
    count = len(columns["qid"])
    rows = [
        [f"{value:.4f}" if isinstance(value, float) else str(value) for value in row]
        for row, _ in zip(zip(*columns.values()), range(ROWS))
    ]
    return _html(header, rows, f"first {ROWS} of {count} rows" if count > ROWS else "")


def report_html(name: str, means: Mapping[str, float], rules: str) -> str:
    """Return the means of a report as an HTML table."""
    return _html(["run", *means], [[name, *(f"{mean:.4f}" for mean in means.values())]], rules)


def comparison_html(text: str) -> str:
    """Return the tables of a comparison, which are aligned as text."""
    return f"<pre>{html.escape(text)}</pre>"


def report_frame(per_query: Mapping[str, Mapping[str, float]]) -> Any:
    """Return values per query as a data frame: one row per query, one column per measure."""
    import pandas as pd

    return pd.DataFrame.from_dict(per_query, orient="index").rename_axis("qid")


def comparison_frame(comparison: str) -> Any:
    """Return the tests of a comparison as a data frame: one row per pair of systems and measure."""
    import pandas as pd

    rows = []
    for test in json.loads(comparison)["pairwise_tests"]:
        rows.append(
            {
                "measure": test["measure"],
                "system": test["system"],
                "against": test["against"],
                "difference": test["difference"],
                "low": test["interval"]["low"],
                "high": test["interval"]["high"],
                "p": test["result"]["p"],
                "adjusted_p": test["adjusted_p"],
                "significant": test["significant"],
                "wins": test["effect"]["wins"],
                "ties": test["effect"]["ties"],
                "losses": test["effect"]["losses"],
            }
        )
    return pd.DataFrame(rows)
