"""What users say about PEs: operators that must share one, and operators that stand alone."""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.analysis.regions import form_regions
from thalweg.errors import HintError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import PhysicalPlan


def with_hints(groups: Mapping[str, str], graph: LogicalGraph) -> dict[str, str]:
    """The groups, with those of `fuse_with` put together and those of `isolate` taken apart."""
    made = dict(groups)
    for name, hint in graph.hints.items():
        if hint.isolate:
            made[name] = f"{name} alone"
    for name, hint in graph.hints.items():
        for other in hint.fuse_with:
            old, new = made[other], made[name]
            mates = _mates(graph, other)
            made = {n: new if g == old and n in mates else g for n, g in made.items()}
    return made


def _mates(graph: LogicalGraph, name: str) -> set[str]:
    """All that must share a PE with an operator, directly or through others."""
    found, waiting = {name}, [name]
    while waiting:
        one = waiting.pop()
        hint = graph.hints.get(one)
        near = set(hint.fuse_with if hint is not None else ())
        near |= {other for other, hint in graph.hints.items() if one in hint.fuse_with}
        waiting += near - found
        found |= near
    return found


def check_hints(plan: PhysicalPlan) -> None:
    """Refuse a plan that cannot do what the user asked for."""
    for name, hint in plan.graph.hints.items():
        if hint.parallel and plan.graph.by_name[name].key == ():
            raise HintError(
                f"{name} cannot run in several channels",
                operator=name,
                where=hint.where,
                expected="an operator without state, or with a key",
                found=f"it {form_regions(plan.graph).verdicts[name].reason}",
                hint='by="…" makes it keep a state for each key',
            )
        for other in hint.fuse_with:
            if plan.place[name] != plan.place[other]:
                raise HintError(
                    f"{name} and {other} cannot share a PE",
                    operator=name,
                    where=hint.where,
                    expected="one PE for both",
                    found=_between(plan, name, other),
                    hint="an exchange or another PE must stand between them: thalweg explain shows it",
                )
        stage, pe = plan.place[name]
        mates = plan.stages[stage].pes[pe].operators if stage < len(plan.stages) else ()
        if hint.isolate and len(mates) > 1:
            raise HintError(
                f"{name} cannot have a PE of its own",
                operator=name,
                where=hint.where,
                found=f"its PE is {' '.join(mates)}",
                hint="all sources share the first PE",
            )


def _between(plan: PhysicalPlan, name: str, other: str) -> str:
    (stage, pe), (stage2, pe2) = plan.place[name], plan.place[other]
    return f"{name} in PE {pe} of stage {stage}, {other} in PE {pe2} of stage {stage2}"
