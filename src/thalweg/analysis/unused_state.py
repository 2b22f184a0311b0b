"""Operators with user code that could keep one state for all tuples, but keep no state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from thalweg.analysis.derive_facts import facts_of
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Process


def settled(graph: LogicalGraph, held: Collection[str] = ()) -> LogicalGraph:
    """The graph with such operators made stateless; the same graph if there are none. `held`: operators with a state in
    a checkpoint, which keep it.

    before: .custom(function, Out), whose function only reads the tuple: one state, so one channel
    after: an operator without state, like a map
    must not fire: on an operator that takes marks or acts at the end, which exactly one channel must do.
    """
    return graph.analyses.once(_settled, frozenset(held)) or graph


def _settled(graph: LogicalGraph, held: frozenset[str]) -> LogicalGraph | None:
    """None: the graph does not change."""
    facts = facts_of(graph)
    operators = tuple(
        replace(o, by=None) if isinstance(o, Process) and o.name not in held and _keeps_nothing(o, facts[o.name]) else o
        for o in graph.operators
    )
    return None if operators == graph.operators else replace(graph, operators=operators)


def _keeps_nothing(operator: Process, facts: Facts) -> bool:
    return operator.key == () and facts.stateless and not operator.marked and not operator.acts_at_end
