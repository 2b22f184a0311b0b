"""Fusion: which groups can be asked for, and which cannot be. What it makes of them: `test_golden.py`."""

from __future__ import annotations

import pytest

from tests.graphs import bargains
from thalweg.errors import PlanError
from thalweg.ir.layout import layout
from thalweg.optimize.passes import make_plan


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
    with pytest.raises(PlanError, match="trades is in two groups"):
        make_plan(bargains(), fuse="ticks trades; trades quotes")
    with pytest.raises(PlanError, match="unknown fusion") as error:
        make_plan(bargains(), fuse="ticks trads; vwap")
    assert (error.value.found, error.value.hint) == ("ticks trads; vwap", "did you mean `trades`?")


def test_unknown_fusion_and_bad_degree() -> None:
    with pytest.raises(PlanError, match="unknown fusion") as error:
        make_plan(bargains(), fuse="al")
    assert error.value.hint == "did you mean `all`?"
    with pytest.raises(PlanError, match="invalid degree"):
        make_plan(bargains(), degree=0)
