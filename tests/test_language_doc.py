"""The examples of docs/language.md build a graph, as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import thalweg as tw

DOCUMENT = Path(__file__).parents[1] / "docs" / "language.md"


def test_the_examples_build() -> None:
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    names: dict[str, Any] = {"tw": tw, "__name__": "language"}
    for block in blocks:
        exec(compile(block, str(DOCUMENT), "exec"), names)
    graph = names["app"].graph()
    assert (len(graph.sources), len(graph.sinks)) == (4, 4)
