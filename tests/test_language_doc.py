"""The examples of docs/language.md build a graph, as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import thalweg as tw
from thalweg import agg, window

DOCUMENT = Path(__file__).parents[1] / "docs" / "language.md"


class Reading(tw.Tuple):
    sensor: str
    celsius: float


def test_the_examples_build() -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    readings = tw.App("readings").source(tw.files("readings/"), Reading)
    names: dict[str, Any] = {"tw": tw, "agg": agg, "window": window, "readings": readings, "__name__": "language"}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    assert names["hot"].ref.operator == "above_mean.filter"  # its text is in no file, so no variable is known
    operators = {o.name: o for o in readings.app._operators}
    for limit, stream in names["above"].items():
        predicate = operators[stream.ref.operator].function.callable  # type: ignore[attr-defined]
        assert [predicate(Reading("s", limit + more)) for more in (-1.0, 1.0)] == [False, True]
    graph = names["app"].graph()
    assert (len(graph.sources), len(graph.sinks)) == (4, 6)
