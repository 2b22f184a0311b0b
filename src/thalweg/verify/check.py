"""`check`: the same sample of the real input under many plans and cuts, compared with the reference bit for bit."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from thalweg.analysis.order_needs import ordered_sinks
from thalweg.analysis.safety import check_safety
from thalweg.analysis.unused_state import settled
from thalweg.engine.inputs.feeders import spool_items
from thalweg.engine.inputs.sample_log import sample_log
from thalweg.engine.storage.log import Epoch
from thalweg.errors import TupleError
from thalweg.ir.error_places import with_places
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import Plan
from thalweg.ir.text import print_plan
from thalweg.optimize.choose_degrees import asked_degrees, open_states
from thalweg.optimize.passes import make_plan
from thalweg.optimize.request import Held
from thalweg.verify.check_declarations import DeclarationChecker, WrongDeclaration
from thalweg.verify.compare import first_difference, in_any_order
from thalweg.verify.diagnose import Divergence, first_divergence, run_log
from thalweg.verify.reference import Answer, Reference


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How many plans gave the reference's answer, and the first that did not."""

    plans: int
    cuts: int
    tuples: int
    sinks: dict[str, int]
    difference: str | None = None
    divergence: Divergence | None = None  # where the difference begins
    failure: TupleError | None = None
    wrong_declaration: WrongDeclaration | None = None


def sample_plans(graph: LogicalGraph, count: int, seed: int) -> Iterator[Plan]:
    """The plans that differ most, then random ones."""
    chance, known = random.Random(seed), settled(graph)
    asked, free = asked_degrees(known), open_states(known)
    for fuse in ("all", "none"):
        for degree in (1, 2, 4):
            yield make_plan(graph, degree=degree, fuse=fuse)
    for _ in range(count - 6):
        names = [o.name for o in graph.operators]
        groups = {name: str(chance.randrange(1 + len(names) // 2)) for name in names}
        degrees = {o.name: chance.randint(1, 4) if o.name in free else 1 for o in known.stateful if o.name not in asked}
        buckets = max([1, *degrees.values(), *asked.values()]) + chance.randrange(6)
        frame_rows = chance.choice([1_000, 10_000, 100_000])
        tables = _random_tables(degrees, buckets, chance) if chance.random() < 0.5 else {}
        held = Held(tables=tables)
        yield make_plan(graph, degree=degrees, fuse=groups, buckets=buckets, frame_rows=frame_rows, held=held)


def _random_tables(degrees: Mapping[str, int], buckets: int, chance: random.Random) -> dict[str, tuple[int, ...]]:
    """Operators of the same degree get the same table, so that they can share a PE."""
    tables = {d: tuple(chance.randrange(d) for _ in range(buckets)) for d in sorted(set(degrees.values()))}
    return {name: tables[degree] for name, degree in degrees.items()}


def compare(plan: Plan, log: list[Epoch], expected: Answer) -> str | None:
    """How the plan's answer differs from the reference's, in words."""
    try:
        found = run_log(plan, log)
    except TupleError as error:
        return f"the plan fails and the reference does not: {error}"
    ordered = ordered_sinks(plan.graph)
    arranged = {sink: list if sink in ordered else in_any_order for sink in expected}
    differences = (
        (sink, first_difference(arranged[sink](rows), arranged[sink](found[sink]))) for sink, rows in expected.items()
    )
    return next((f"sink {sink}: {text}" for sink, text in differences if text is not None), None)


def check(
    graph: LogicalGraph,
    *,
    tuples: int,
    plans: int,
    seed: int,
    cut_invariant: bool,
    progress: Callable[[int], None],
    first: Plan | None = None,
) -> CheckResult:
    """Check the declarations, then compare `plans` plans with the reference, over several cuts between epochs.
    `first`: the plan that is compared first."""
    check_safety(graph)
    with with_places(graph), tempfile.TemporaryDirectory(prefix="thalweg-check-") as folder:
        spool_items(graph.sources, Path(folder), tuples)
        tried = chain([] if first is None else [first], sample_plans(graph, plans, seed))
        return _check(graph, Path(folder), tuples, islice(tried, plans), cut_invariant, progress)


def _check(
    graph: LogicalGraph,
    spools: Path,
    tuples: int,
    plans: Iterator[Plan],
    cut_invariant: bool,
    progress: Callable[[int], None],
) -> CheckResult:
    cuts = [max(1, tuples // parts) for parts in (1, 3, 10)]
    logs = {cut: sample_log(graph, tuples, cut, spools) for cut in cuts}
    reference = DeclarationChecker(graph)
    try:
        answers = {cuts[0]: reference.run(logs[cuts[0]])}
    except TupleError as failure:
        return CheckResult(0, 0, tuples, {}, failure=failure)
    wrong = reference.try_again()
    if wrong is not None:
        return CheckResult(0, 0, sum(e.tuples for e in logs[cuts[0]]), {}, str(wrong), wrong_declaration=wrong)
    used: set[int] = set()
    done = 0
    for number, plan in enumerate(plans):
        cut = cuts[number % len(cuts)]
        used.add(cut)
        if cut not in answers:
            # The answer is a function of the log: different cuts of one ordered source must not change it.
            answers[cut] = answers[cuts[0]] if cut_invariant else Reference(graph).run(logs[cut])
        difference = compare(plan, logs[cut], answers[cut])
        if difference is not None:
            text = f"{difference}\nunder the plan\n{print_plan(plan)}cut at {cut} tuples per epoch"
            divergence = first_divergence(plan, logs[cut])
            return CheckResult(done, len(used), sum(e.tuples for e in logs[cut]), {}, text, divergence)
        done += 1
        progress(done)
    taken = sum(epoch.tuples for epoch in logs[cuts[0]])
    return CheckResult(done, len(used), taken, {name: len(rows) for name, rows in answers[cuts[0]].items()})
