"""Random changes of a plan's decisions, legal or not: for whatever plan comes, numbers are taken modulo what it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from thalweg.ir.operators import Feedback, Operator, Sink, Source
from thalweg.ir.plan import Decision, Plan

Edit = tuple[int, str, int]  # an operator, what to change, a number
KINDS = ("join", "join", "group", "alone", "degree", "degree", "all degrees", "in turn", "stay", "key", "table", "read")


def edits() -> SearchStrategy[tuple[Edit, ...]]:
    one = st.tuples(st.integers(0, 30), st.sampled_from(KINDS), st.integers(0, 60))
    return st.lists(one, min_size=1, max_size=4).map(tuple)


def edited(plan: Plan, changes: Sequence[Edit]) -> Plan:
    for index, kind, number in changes:
        operators = [o for o in plan.graph.operators if not isinstance(o, Sink | Feedback)]
        operator = operators[index % len(operators)]
        plan = _all_degrees(plan, 1 + number % 4) if kind == "all degrees" else _edited(plan, operator, kind, number)
    return plan


def _all_degrees(plan: Plan, degree: int) -> Plan:
    """The degree of all keyed state: what shares a PE must have one degree."""
    keyed = [o.name for o in plan.graph.stateful if o.key]
    return plan.decide({name: replace(plan.decisions[name], degree=degree, table=None) for name in keyed})


def _edited(plan: Plan, operator: Operator, kind: str, number: int) -> Plan:
    old = plan.decisions[operator.name]
    made: dict[str, Decision] = {operator.name: old}
    match kind:
        case "join" if operator.inputs:  # the PE of what feeds it
            before = operator.inputs[number % len(operator.inputs)].operator
            group = plan.decisions[before].group
            group = 1000 + plan.graph.declared[before] if group is None else group
            made = {operator.name: replace(old, group=group), before: replace(plan.decisions[before], group=group)}
        case "group":
            made[operator.name] = replace(old, group=number % 5)
        case "alone":
            made[operator.name] = replace(old, group=None)
        case "degree" if old.key is not None:
            made[operator.name] = replace(old, degree=1 + number % 5)
        case "in turn" if operator.key is None and not isinstance(operator, Source):
            made[operator.name] = replace(old, degree=1 + number % 4, key=())
        case "stay" if operator.key is None:
            made[operator.name] = replace(old, degree=None, key=None, table=None)
        case "key" if old.key is not None and operator.inputs:
            names = operator.key or plan.graph.type_of(operator.inputs[0]).names
            key = tuple(dict.fromkeys((names[number % len(names)], *(names[:1] if number % 3 == 0 else ()))))
            made[operator.name] = replace(old, key=key)
        case "table" if old.key:
            table = tuple((number + bucket * bucket) % (old.degree or 1) for bucket in range(plan.buckets))
            made[operator.name] = replace(old, table=table)
        case "read" if isinstance(operator, Source):
            made[operator.name] = replace(old, degree=1 + number % 2, key=())
    return plan.decide(made)
