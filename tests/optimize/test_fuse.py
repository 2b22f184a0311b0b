"""Golden plans: for each application of `tests/graphs.py` the plans that fusion makes, in text form.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/optimize, then read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.graphs import GRAPHS, bargains
from thalweg.errors import PlanError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.text import parse_plan, print_plan
from thalweg.optimize.passes import make_plan

GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"
OPTIONS: dict[str, dict[str, int | str]] = {
    "fuse all, degree 1": {"fuse": "all", "degree": 1},
    "fuse all, degree 2": {"fuse": "all", "degree": 2},
    "fuse none, degree 2, 4 buckets": {"fuse": "none", "degree": 2, "buckets": 4},
}


def sections(graph: LogicalGraph) -> dict[str, str]:
    return {title: print_plan(make_plan(graph, **options)) for title, options in OPTIONS.items()}  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GRAPHS)
def test_golden_plans(name: str) -> None:
    graph = GRAPHS[name]()
    text = "\n".join(f"# {title}\n{plan}" for title, plan in sections(graph).items())
    file = GOLDEN / f"fuse_{name}.txt"
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), "THALWEG_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("name", GRAPHS)
def test_golden_plans_parse_back(name: str) -> None:
    graph = GRAPHS[name]()
    for text in sections(graph).values():
        assert print_plan(parse_plan(text, graph)) == text


def test_groups_share_a_pe() -> None:
    graph = bargains()
    groups = {o.name: "a" if o.name in ("ticks", "trades") else "b" for o in graph.operators}
    plan = make_plan(graph, fuse=groups)
    assert [[" ".join(pe.operators) for pe in stage.pes] for stage in layout(plan).stages] == [
        ["ticks trades", "quotes"],
        ["vwap bargains.join bargains.filter bargains"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "ticks trades; vwap bargains.join",
        "ticks, trades\nvwap bargains.join  # state\n",
        "vwap,bargains.join;trades ticks;",
    ],
)
def test_groups_as_text(text: str) -> None:
    plan = make_plan(bargains(), fuse=text)
    assert [[" ".join(pe.operators) for pe in stage.pes] for stage in layout(plan).stages] == [
        ["ticks trades", "quotes"],
        ["vwap bargains.join", "bargains.filter", "bargains"],
    ]


def test_groups_that_cannot_be() -> None:
    with pytest.raises(PlanError, match="trades stands in two groups"):
        make_plan(bargains(), fuse="ticks trades; trades quotes")
    with pytest.raises(PlanError, match="unknown fusion") as error:
        make_plan(bargains(), fuse="ticks trads; vwap")
    assert (error.value.found, error.value.hint) == ("ticks trads; vwap", "did you mean `trades`?")


def test_unknown_fusion_and_bad_degree() -> None:
    with pytest.raises(PlanError, match="unknown fusion") as error:
        make_plan(bargains(), fuse="al")
    assert error.value.hint == "did you mean `all`?"
    with pytest.raises(PlanError, match="a degree counts channels"):
        make_plan(bargains(), degree=0)
