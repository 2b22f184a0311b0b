"""Whether a plan follows the hints of the application: `.parallel()`, `.sequential()`, `.fuse_with()`, `.isolate()`."""

from __future__ import annotations

from thalweg.analysis.form_regions import form_regions
from thalweg.analysis.partitioning import arriving_routes, partitioning
from thalweg.errors import HintError
from thalweg.ir.hints import Hint
from thalweg.ir.layout import layout
from thalweg.ir.operators import Feedback, Sink, Source
from thalweg.ir.plan import Plan
from thalweg.optimize.legality import LEGAL, Rule, Verdict, as_error, places, runs_in_several


def verify_hints(plan: Plan) -> Plan:
    """Return the plan, or raise a HintError for the first hint that it does not follow."""
    for rule in HINT_RULES:
        if not (verdict := rule(plan)).ok:
            raise as_error(HintError, verdict.reason, verdict)
    return plan


def parallel_is_possible(plan: Plan) -> Verdict:
    """`.parallel()` is not used for an operator with one state for all tuples."""
    for name, hint in plan.graph.hints.items():
        if hint.parallel and plan.graph.by_name[name].key == ():
            return _unmet(
                name,
                hint,
                f"{name} cannot run in several channels",
                expected="an operator without state, or with a key",
                found=f"it {form_regions(plan.graph).verdicts[name].reason}",
                advice='by="…" makes it keep a state for each key',
            )
    return LEGAL


def asked_degree_is_kept(plan: Plan) -> Verdict:
    """An operator with `.parallel(degree=N)` runs in that many channels, or in one."""
    for name, hint in plan.graph.hints.items():
        if hint.degree is None:
            continue
        for degree in _channels_of(plan, name):
            if degree not in (1, hint.degree):
                return _unmet(
                    name,
                    hint,
                    f"{name} has a different degree than the application requests",
                    expected=f"degree={hint.degree}",
                    found=f"degree={degree}",
                    advice="remove .parallel(degree=…), or change the plan",
                )
    return LEGAL


def _channels_of(plan: Plan, name: str) -> set[int]:
    """The numbers of channels over which its tuples are spread when they arrive, as far as they are decided."""
    operator = plan.graph.by_name[name]
    if isinstance(operator, Source):
        degrees = {plan.decisions[name].degree}
    else:
        degrees = {
            route.degree for route in arriving_routes(plan, operator, partitioning(plan)).values() if not route.open
        }
    return {degree for degree in degrees if degree}


def asked_key_is_kept(plan: Plan) -> Verdict:
    """Tuples are routed to an operator with `.parallel(key=…)` by that key, or to one channel."""
    for name, hint in plan.graph.hints.items():
        decision = plan.decisions[name]
        if hint.key is not None and decision.key and decision.degree != 1 and decision.key != hint.key:
            return _unmet(
                name,
                hint,
                f"tuples are routed to {name} by a different key than the application requests",
                expected=f"key={','.join(hint.key)}",
                found=f"key={','.join(decision.key)}",
                advice="remove .parallel(key=…), or change the plan",
            )
    return LEGAL


def sequential_is_kept(plan: Plan) -> Verdict:
    """An operator with `.sequential()` runs in one channel."""
    parts = partitioning(plan)
    for name, hint in plan.graph.hints.items():
        operator = plan.graph.by_name[name]
        if hint.sequential and not isinstance(operator, Sink | Feedback) and runs_in_several(plan, operator, parts):
            return _unmet(
                name,
                hint,
                f"{name} runs in several channels",
                expected="one channel, because of .sequential()",
                found="; ".join(sorted({str(r) for r in arriving_routes(plan, operator, parts).values()}))
                or "read in several channels",
                advice="set degree=1 for it; for a source, or an operator directly after one, degree=1 for the source",
            )
    return LEGAL


def fuse_with_is_kept(plan: Plan) -> Verdict:
    """Operators with `.fuse_with()` share a PE."""
    place = layout(plan).place
    for name, hint in plan.graph.hints.items():
        for other in hint.fuse_with:
            if place[name] != place[other]:
                return _unmet(
                    name,
                    hint,
                    f"{name} and {other} cannot share a PE",
                    expected="one PE for both",
                    found=places(plan, name, other),
                    advice="an exchange or another PE is required between them; thalweg explain shows it",
                )
    return LEGAL


def isolate_is_kept(plan: Plan) -> Verdict:
    """An operator with `.isolate()` has a PE of its own."""
    made = layout(plan)
    for name, hint in plan.graph.hints.items():
        pe = made.pes.get(made.place[name])
        if hint.isolate and pe is not None and len(pe.operators) > 1:
            return _unmet(
                name,
                hint,
                f"{name} cannot have a PE of its own",
                expected="a PE of its own, because of .isolate()",
                found=f"its PE is {' '.join(pe.operators)}",
                advice="all sources share the first PE; another operator has its own PE if it is in no group",
            )
    return LEGAL


def _unmet(name: str, hint: Hint, reason: str, *, expected: str, found: str, advice: str) -> Verdict:
    return Verdict(False, reason, name, hint.where, expected, found, advice)


HINT_RULES: tuple[Rule, ...] = (
    parallel_is_possible,
    asked_degree_is_kept,
    asked_key_is_kept,
    sequential_is_kept,
    fuse_with_is_kept,
    isolate_is_kept,
)
