"""Progress bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = Callable[[str, int, "int | None"], object]


def bar() -> Progress:
    """Return a function that shows a bar of tqdm per stage, for ``progress=True``."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    bars: dict[str, Any] = {}

    def report(stage: str, done: int, total: int | None) -> None:
        if stage not in bars:
            for earlier in bars.values():
                earlier.close()
            bars[stage] = tqdm(desc=stage, total=total)
        shown = bars[stage]
        shown.update(done - shown.n)
        if total is not None and done >= total:
            shown.close()

    return report
