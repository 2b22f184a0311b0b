"""Golden fixtures of each pass: in tests/golden/PASS a plan by hand (`*.in.txt`), and what the pass makes of it
(`*.out.txt`). In tests/golden/plans what all passes make of the applications of `tests/graphs.py`.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/optimize, then read the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.graphs import GRAPHS, PLANNED
from thalweg.ir.diff import diff
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.profile import Loads, Profile
from thalweg.ir.text import parse_plan, print_plan
from thalweg.optimize.context import Context
from thalweg.optimize.legality import verify
from thalweg.optimize.passes import PASSES, make_plan, run_passes
from thalweg.optimize.request import Held, PlanRequest

GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"
CASES = [(one.name, file) for one in PASSES for file in sorted((GOLDEN / one.name).glob("*.in.txt"))]
OPTIONS: dict[str, dict[str, int | str]] = {
    "fuse all, degree 1": {"fuse": "all", "degree": 1},
    "fuse all, degree 2": {"fuse": "all", "degree": 2},
    "fuse none, degree 2, 4 buckets": {"fuse": "none", "degree": 2, "buckets": 4},
}


@pytest.mark.parametrize(("name", "file"), CASES, ids=lambda one: one.name if isinstance(one, Path) else one)
def test_each_pass(name: str, file: Path) -> None:
    (one,) = (one for one in PASSES if one.name == name)
    settings, _, text = file.read_text().partition("\n\n")
    given = _settings(settings)
    graph = PLANNED[given.pop("app")]()
    before = verify(parse_plan(text, graph))
    after = run_passes(before, (one,), _context(graph, given))
    changes = "".join(f"# {change}\n" for change in diff(before, after)) or "# unchanged\n"
    assert (after is before) == (changes == "# unchanged\n")
    _compare(print_plan(after) + changes, file.with_name(file.name.replace(".in.", ".out.")))


def _settings(text: str) -> dict[str, Any]:
    """`name: value` in each line; a value is JSON, or a word."""
    pairs = (line.split(": ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: _value(value) for name, value in pairs}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _context(graph: LogicalGraph, given: dict[str, Any]) -> Context:
    loads, tables = given.pop("loads", None), given.pop("tables", {})
    held = Held(routes=given.pop("routes", None), tables={name: tuple(table) for name, table in tables.items()})
    at = {name: tuple(load) for name, load in (loads or {}).items()}
    profile = Profile(Loads(len(next(iter(at.values()))), 10, at)) if at else None
    return Context(graph.analyses, PlanRequest.of(**given), held, profile)


def _compare(text: str, file: Path) -> None:
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), "THALWEG_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("name", [one.name for one in PASSES])
def test_each_pass_has_cases(name: str) -> None:
    """Some that change the plan, and one in which it must not fire; no output without its input."""
    outs = {file.name: file.read_text() for file in (GOLDEN / name).glob("*.out.txt")}
    assert {file.name.replace(".in.", ".out.") for _, file in CASES if file.parent.name == name} == outs.keys()
    assert len(outs) >= 3
    assert any(text.endswith("# unchanged\n") for text in outs.values())


@pytest.mark.parametrize("name", GRAPHS)
def test_all_passes(name: str) -> None:
    graph = GRAPHS[name]()
    made = {title: print_plan(make_plan(graph, **options)) for title, options in OPTIONS.items()}  # type: ignore[arg-type]
    for text in made.values():
        assert print_plan(parse_plan(text, graph)) == text
    _compare("\n".join(f"# {title}\n{plan}" for title, plan in made.items()), GOLDEN / "plans" / f"{name}.txt")
