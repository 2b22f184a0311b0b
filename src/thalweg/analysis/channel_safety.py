"""Which operators may run in several channels at all, by the paper's rules or by Thalweg's."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.analysis.facts import facts_of
from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.facts import PARTITIONED, UNKNOWN, Facts, Reason
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Feedback, Operator, Sink, Source, StreamRef


@dataclass(frozen=True, slots=True)
class Rules:
    """`most`: how many tuples an operator may make of one (None: any number, told apart by sub-positions). `fans`:
    regions may part and meet inside. `blocks`: every source is read in parallel, in blocks of consecutive positions;
    else only one that declares how it is partitioned. `again`: behind a sequential operator tuples are split again for
    operators without state, although they would be as well off where they are."""

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
        hint = did_you_mean(name, list(known))
        raise PlanError("unknown rules for parallel regions", expected=" or ".join(known), found=name, hint=hint)
    return known[name]


def refusal(graph: LogicalGraph, operator: Operator, rules: Rules) -> Reason | None:
    """Why an operator must run in one channel; None: it need not."""
    hint = graph.hints.get(operator.name)
    facts = facts_of(graph)[operator.name]
    if hint is not None and hint.sequential:
        return Reason("declared sequential", hint.where)
    match operator:
        case Sink():
            return Reason("a sink takes all tuples", operator.where)
        case Feedback():
            return Reason("what is fed back comes in one channel", operator.where)
        case Source(partition_by=key) if not rules.blocks and not key:
            return Reason("declares no key by which it is partitioned", operator.where)
    many = None if isinstance(operator, Source) else _of_selectivity(facts, rules)
    if (kept := _of_state(facts)) is not None:
        return kept
    if operator.key == ():  # what keeps nothing, and has none of these, has no key: see `settled`
        return Reason(
            "keeps nothing, but marks, the end or a state in the checkpoint are for one channel", operator.where
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
            return Reason(f"may make several tuples of one: {one.because.text}", one.because.where)
    return None


def _of_fans(graph: LogicalGraph, operator: Operator) -> Reason | None:
    before = len(operator.inputs)
    behind = sum(len(graph.consumers[StreamRef(operator.name, port)]) for port in range(len(operator.outputs)))
    if before > 1:
        return Reason(f"has {before} predecessors", operator.where)
    if behind > 1:
        return Reason(f"has {behind} successors", operator.where)
    return None
