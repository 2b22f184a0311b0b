"""Operators of the user's code that could keep one state for all tuples, and keep nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from thalweg.analysis.facts import facts_of
from thalweg.ir.facts import Facts
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Process


def settled(graph: LogicalGraph, held: Collection[str] = ()) -> LogicalGraph:
    """The graph, in which such operators have no state; the same if there are none. `held`: operators of which a
    checkpoint has a state, where it stays.

    before: .custom(function, Out), whose function only looks at the tuple: one state, so one channel
    after: an operator without state, like a map
    must not fire: on one that takes marks or has something to say at the end, which one channel does once.
    """
    return graph.analyses.once(_settled, frozenset(held)) or graph


def _settled(graph: LogicalGraph, held: frozenset[str]) -> LogicalGraph | None:
    """None: the graph itself."""
    facts = facts_of(graph)
    operators = tuple(
        replace(o, by=None) if isinstance(o, Process) and o.name not in held and _keeps_nothing(o, facts[o.name]) else o
        for o in graph.operators
    )
    return None if operators == graph.operators else replace(graph, operators=operators)


def _keeps_nothing(operator: Process, facts: Facts) -> bool:
    return operator.key == () and facts.stateless and not operator.marked and not operator.acts_at_end
