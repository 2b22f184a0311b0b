"""Which operators may run in several channels, by the paper's rules or by Thalweg's."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.analysis.derive_facts import facts_of
from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.facts import PARTITIONED, UNKNOWN, Facts, Reason
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef


@dataclass(frozen=True, slots=True)
class Rules:
    """`most`: the maximum number of tuples that an operator may emit for one (None: any number, distinguished by
    sub-positions). `fans`: streams may branch and reconverge inside a region. `blocks`: every source is read in
    parallel, in blocks of consecutive positions; otherwise only a source that declares how it is partitioned. `again`:
    after a sequential operator, tuples are split again for operators without state, although they could stay where
    they are."""

    name: str
    most: int | None
    fans: bool
    blocks: bool
    again: bool


THALWEG = Rules("thalweg", most=None, fans=True, blocks=True, again=False)
PAPER = Rules("paper", most=1, fans=False, blocks=False, again=True)


def rules_of(name: str) -> Rules:
    known = {rules.name: rules for rules in (THALWEG, PAPER)}
    if name not in known:
        hint = did_you_mean(str(name), list(known))
        raise PlanError("unknown rules for parallel regions", expected=" or ".join(known), found=str(name), hint=hint)
    return known[name]


def refusal(graph: LogicalGraph, operator: Operator, rules: Rules) -> Reason | None:
    """Why an operator must run in one channel; None: it may run in several."""
    hint = graph.hints.get(operator.name)
    facts = facts_of(graph)[operator.name]
    if hint is not None and hint.sequential:
        return Reason("declared sequential", hint.where)
    match operator:
        case Sink():
            return Reason("a sink receives all tuples", operator.where)
        case Feedback():
            return Reason("tuples that are fed back arrive in one channel", operator.where)
        case Source(partition_by=key) if not rules.blocks and not key:
            return Reason("declares no partitioning key", operator.where)
    many = None if isinstance(operator, Source) else _of_selectivity(facts, rules)
    if (kept := _of_state(facts)) is not None:
        return kept
    if operator.key == ():  # an operator without state and without all of these has no key: see `settled`
        return Reason(
            "keeps no state, but marks, the end or a state in the checkpoint require one channel", operator.where
        )
    return many or (None if rules.fans else _of_fans(graph, operator))


def _of_state(facts: Facts) -> Reason | None:
    state = facts.state
    if state.kind == UNKNOWN:
        return Reason(f"may keep state: {state.because.text}", state.because.where)
    if state.kind == PARTITIONED and not state.has_key:
        return Reason("keeps one state for all tuples", state.because.where)
    return None


def _of_selectivity(facts: Facts, rules: Rules) -> Reason | None:
    if rules.most is None:
        return None
    for one in facts.selectivity:
        if not one.known or one.most is None or one.most > rules.most:
            return Reason(f"may emit several tuples for one: {one.because.text}", one.because.where)
    return None


def _of_fans(graph: LogicalGraph, operator: Operator) -> Reason | None:
    before = len(operator.inputs)
    after = sum(len(graph.consumers[StreamRef(operator.name, port)]) for port in range(len(operator.outputs)))
    if before > 1:
        return Reason(f"has {before} predecessors", operator.where)
    if after > 1:
        return Reason(f"has {after} successors", operator.where)
    return None
