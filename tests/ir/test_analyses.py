"""Each analysis runs once for a graph, and its result goes with the graph."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.graphs import bargains
from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.form_regions import form_regions
from thalweg.analysis.safety import check_safety
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan


def test_once() -> None:
    graph, calls = bargains(), []

    def count(of: LogicalGraph, what: str, *, more: int = 0) -> int:
        calls.append((of, what, more))
        return len(of.operators)

    assert [graph.analyses.once(count, "a") for _ in range(2)] == [8, 8]
    assert graph.analyses.once(count, "a", more=1) == 8
    assert calls == [(graph, "a", 0), (graph, "a", 1)]
    assert facts_of(graph) is facts_of(graph)
    assert form_regions(graph) is form_regions(graph, "thalweg")
    assert form_regions(graph) is not form_regions(graph, "paper")
    assert bargains().analyses is not graph.analyses


def test_a_failed_analysis_fails_again() -> None:
    def fails(graph: LogicalGraph) -> None:
        raise ValueError(graph.name)

    graph = bargains()
    for _ in range(2):
        with pytest.raises(ValueError, match="bargains"):
            graph.analyses.once(fails)


def test_nothing_is_kept_of_a_deleted_graph() -> None:
    graph = bargains()
    check_safety(graph)
    make_plan(graph, degree=2)
    held = weakref.ref(graph)
    del graph
    gc.collect()
    assert held() is None
