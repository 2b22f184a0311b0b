"""Reject operators with state that no checkpoint holds; warn about those that depend on the clock or randomness, and
about code that is never called."""

from __future__ import annotations

from thalweg.analysis.derive_facts import facts_of
from thalweg.errors import GraphError, warn
from thalweg.ir.facts import HIDDEN_STATE, MUTATES_INPUT, RANDOMNESS, TIME, Effect
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import acts_on_marks
from thalweg.ir.operators import Operator, Process


def check_safety(graph: LogicalGraph) -> None:
    """Reject a graph in which an operator keeps state where Thalweg cannot find it.

    Such an operator would give a different answer in several processes, and after a restart. Sequential execution would
    fix only the former, so it is not a solution. A declaration is, if no result depends on the state (a cache).
    """
    graph.analyses.once(_check)  # one warning for each graph, not for each of its plans


def _check(graph: LogicalGraph) -> None:
    for name, facts in facts_of(graph).items():
        operator = graph.by_name[name]
        hidden = facts.effects_of(*HIDDEN_STATE)
        if hidden and not facts.stateless:
            raise _refusal(operator, hidden[0])
        for effect in facts.effects_of(TIME, RANDOMNESS):
            warn(_surprise(operator, effect))
        if isinstance(operator, Process) and operator.library is None and _waits_in_vain(operator):
            warn(
                f"{name} ({operator.where}): its on_mark is never called, because not all of its input streams have "
                "event time, or all punctuation; add .event_time(attribute) or .punctor(predicate) before it"
            )


def _waits_in_vain(operator: Process) -> bool:
    return not operator.marked and acts_on_marks(operator.logic)


def _refusal(operator: Operator, effect: Effect) -> GraphError:
    if effect.kind == MUTATES_INPUT:
        return GraphError(
            f"the {operator.kind} changes a tuple that other operators may see",
            operator=operator.name,
            where=effect.reason.where,
            expected="a new tuple",
            found=f"it {effect.reason.text}",
            hint="return a new one: {…}, or Type(…)",
        )
    return GraphError(
        f"the {operator.kind} keeps state that no checkpoint holds",
        operator=operator.name,
        where=effect.reason.where,
        expected="results that depend on the tuple alone",
        found=f"it {effect.reason.text}",
        hint='.custom(function, Out, by="key", state=…) keeps state for you; @tw.declare(state="stateless") above the '
        "function, if no result depends on it (a cache, a count of calls)",
    )


def _surprise(operator: Operator, effect: Effect) -> str:
    what = "the clock" if effect.kind == TIME else "random numbers"
    return (
        f"{operator.name} depends on {what} ({effect.reason}): every run, including one that resumes after a failure, "
        f'gives different results; if this is intended, declare it with @tw.declare(effects="none")'
    )
