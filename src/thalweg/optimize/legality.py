"""Which plans are legal: pure rules, applied to every plan, regardless of its origin (docs/invariants.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from thalweg.analysis.derive_facts import facts_of
from thalweg.analysis.liveness import live_attributes
from thalweg.analysis.partitioning import arriving_routes, partitioning
from thalweg.errors import PlanError, Where, did_you_mean
from thalweg.ir.facts import UNKNOWN
from thalweg.ir.layout import layout
from thalweg.ir.operators import Feedback, Operator, Sink, StreamRef
from thalweg.ir.plan import TO_FIRST, Plan, Route


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a plan follows a rule; if not, the first violation, with its operator and a hint."""

    ok: bool
    reason: str = ""
    operator: str | None = None
    where: Where | None = None
    expected: str | None = None
    found: str | None = None
    hint: str | None = None


LEGAL = Verdict(True)
Rule = Callable[[Plan], Verdict]


def verify(plan: Plan) -> Plan:
    """Return the plan, or raise a PlanError for the first rule that it breaks."""
    for rule in RULES:
        if not (verdict := rule(plan)).ok:
            raise as_error(PlanError, f"illegal plan: {verdict.reason}", verdict)
    return plan


def as_error(kind: type[PlanError], message: str, verdict: Verdict) -> PlanError:
    return kind(
        message,
        operator=verdict.operator,
        where=verdict.where,
        expected=verdict.expected,
        found=verdict.found,
        hint=verdict.hint,
    )


def _refused(
    operator: Operator, reason: str, expected: str, *, found: str | None = None, hint: str | None = None
) -> Verdict:
    return Verdict(False, reason, operator.name, operator.where, expected, found, hint)


def _first(verdicts: Iterator[Verdict]) -> Verdict:
    return next((verdict for verdict in verdicts if not verdict.ok), LEGAL)


# Decisions, one by one.


def state_is_routed(plan: Plan) -> Verdict:
    """Tuples are routed to every state: by a part of its key, or into one channel if it has no key."""
    return _first(_state_is_routed(plan, operator) for operator in plan.graph.stateful)


def _state_is_routed(plan: Plan, operator: Operator) -> Verdict:
    decision, own = plan.decisions[operator.name], operator.key or ()
    if decision.key is None:
        return _refused(operator, f"{operator.name} keeps state but has no degree", "degree=N")
    if not own and decision.degree != 1:
        degree = "an open degree" if decision.degree is None else f"degree {decision.degree}"
        return _refused(operator, f"{operator.name} keeps one state for all tuples and has {degree}", "degree=1")
    if own and not (decision.key and set(decision.key) <= set(own)):
        by = ", ".join(decision.key) or "nothing"
        return _refused(
            operator,
            f"{operator.name} is routed by {by}, which is not a part of its key",
            f"key={','.join(own)}, or a part of it",
        )
    return LEGAL


def routes_can_be(plan: Plan) -> Verdict:
    """Tuples are routed to an operator without state in turn, or by attributes that they have; sources are read in
    turn; sinks and feedback have no degree."""
    return _first(_route_can_be(plan, o) for o in plan.graph.operators if o.key is None)


def _route_can_be(plan: Plan, operator: Operator) -> Verdict:
    decision = plan.decisions[operator.name]
    if decision.key is None:
        return LEGAL
    if isinstance(operator, Sink | Feedback):
        what = "sink" if isinstance(operator, Sink) else "feedback"
        return _refused(operator, f"the {what} {operator.name} has a degree", "no degree: it runs in one place")
    live = live_attributes(plan.graph)  # other attributes are not sent, even if the tuple type has them
    carried = [set(live[s]) for port, s in enumerate(operator.inputs) if port != operator.mark_port]
    if set(decision.key) <= (set.intersection(*carried) if carried else set()):
        return LEGAL
    return _refused(
        operator,
        f"{operator.name} is routed by {', '.join(decision.key)}, which its tuples do not carry",
        "no key, or attributes that this operator or one after it reads",
        hint=_how_to_carry(plan, operator, decision.key[0]),
    )


def _how_to_carry(plan: Plan, operator: Operator, attribute: str) -> str | None:
    """How an attribute that an operator's tuples have, but do not carry, can be used to route them."""
    types = [plan.graph.type_of(stream) for stream in operator.inputs]
    if not types or not all(attribute in one.names for one in types):
        return did_you_mean(attribute, types[0].names) if types else None
    return f'.parallel(key="{attribute}") in the application'


def numbers_fit(plan: Plan) -> Verdict:
    """Degrees count channels; there are at least as many buckets as channels; frames have at least one row."""
    for operator in plan.graph.operators:
        degree = plan.decisions[operator.name].degree
        if degree is not None and degree < 1:
            return _refused(operator, f"{operator.name} has degree {degree}", "1 or more")
    if plan.buckets < plan.channels:
        reason = f"{plan.buckets} buckets are too few for {plan.channels} channels"
        return Verdict(False, reason, expected=f"buckets={plan.channels} or more")
    if plan.frame_rows < 1:
        return Verdict(False, "frames need at least one row", expected="frame_rows=1 or more")
    return LEGAL


def tables_fit(plan: Plan) -> Verdict:
    """A table belongs to an operator whose state has a key, and gives each bucket one of the operator's channels."""
    return _first(_table_fits(plan, plan.graph.by_name[name], table) for name, table in plan.tables.items())


def _table_fits(plan: Plan, operator: Operator, table: tuple[int, ...]) -> Verdict:
    name, degree = operator.name, plan.decisions[operator.name].degree
    if not operator.key:
        return _refused(operator, f"{name} has a table, but no state with a key", "no table")
    if degree is None:
        return _refused(operator, f"{name} has a table, but its degree is open", "degree=N")
    if len(table) != plan.buckets:
        reason = f"the table of {name} has {len(table)} buckets, but the plan has {plan.buckets}"
        return _refused(operator, reason, f"a table of {plan.buckets} buckets")
    if not all(0 <= channel < degree for channel in table):
        reason = f"the table of {name} names the channel {max(table)}, but its degree is {degree}"
        return _refused(operator, reason, f"channels from 0 to {degree - 1}")
    return LEGAL


def engines_can_run_it(plan: Plan) -> Verdict:
    """No engine places PEs on hosts or gives ports a thread; a decision that changes nothing would be misleading."""
    for operator in plan.graph.operators:
        decision = plan.decisions[operator.name]
        if decision.host is not None:
            return _refused(operator, f"no engine can place {operator.name} on a host", "no host", found=decision.host)
        if decision.ports:
            found = ", ".join(map(str, decision.ports))
            return _refused(
                operator, f"no engine runs threaded ports, like those of {operator.name}", "no ports", found=found
            )
    return LEGAL


# Rules about all decisions together.


def groups_are_pes(plan: Plan) -> Verdict:
    """The operators of a group are one PE: neither an exchange nor another PE is between them. Sinks have no group."""
    first: dict[int, str] = {}
    place = layout(plan).place
    for operator in plan.graph.operators:
        group = plan.decisions[operator.name].group
        if group is None:
            continue
        if isinstance(operator, Sink):
            return _refused(operator, f"the sink {operator.name} has a group", "no group: sinks are not in a PE")
        other = first.setdefault(group, operator.name)
        if place[other] != place[operator.name]:
            return _refused(
                operator,
                f"{other} and {operator.name} are in group {group} but cannot share a PE",
                "groups without an exchange or another PE between their operators",
                found=places(plan, other, operator.name),
            )
    return LEGAL


def routes_are_kept(plan: Plan) -> Verdict:
    """An operator's input arrives by its own route, or from operators of its PE that keep that route."""
    parts, wires = partitioning(plan), layout(plan).wire_of
    for operator in filter(plan.is_routed, plan.graph.operators):
        for port, stream in enumerate(operator.inputs):
            needed = plan.route_into(operator, port)
            if (operator.name, port) not in wires and parts[stream] != needed:
                return _refused(
                    operator,
                    f"{operator.name} needs {needed}, but {stream} is partitioned {parts[stream]}",
                    "an exchange between them",
                    found=f"both in group {plan.decisions[operator.name].group}",
                    hint="put them into different groups",
                )
    return LEGAL


def unknown_state_is_in_one_channel(plan: Plan) -> Verdict:
    """An operator that may keep unknown state runs in one channel."""
    facts, parts = facts_of(plan.graph), partitioning(plan)
    for operator in plan.graph.operators:
        state = facts[operator.name].state
        if (
            state.kind == UNKNOWN
            and not isinstance(operator, Sink | Feedback)
            and runs_in_several(plan, operator, parts)
        ):
            reason = f"{operator.name} may keep state ({state.because}) and runs in several channels"
            return _refused(operator, reason, "degree=1")
    return LEGAL


def runs_in_several(plan: Plan, operator: Operator, parts: Mapping[StreamRef, Route]) -> bool:
    """Whether the operator runs in several channels or tasks."""
    if layout(plan).place[operator.name].stage == 0:
        return not plan.reads_in_one
    return any(route != TO_FIRST for route in arriving_routes(plan, operator, parts).values())


def places(plan: Plan, name: str, other: str) -> str:
    place = layout(plan).place
    return f"{name} in PE {place[name]}, {other} in PE {place[other]}"


RULES: tuple[Rule, ...] = (
    state_is_routed,
    routes_can_be,
    numbers_fit,
    tables_fit,
    engines_can_run_it,
    groups_are_pes,
    routes_are_kept,
    unknown_state_is_in_one_channel,
)
