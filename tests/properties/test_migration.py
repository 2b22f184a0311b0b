"""Migration in the middle of a log: from there on other degrees, buckets and fusion, and the same answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.amount import share
from tests.properties import derived
from tests.properties.check import Answer, Outcome, difference, prepared, run_reference
from tests.properties.coverage import assert_reached
from tests.properties.strategies import Case, Node, PlanChoice, cases, plan_choices
from tests.properties.test_plan_invariance import SETTINGS
from thalweg.engine.inputs.feedback import fed_back, until_nothing_is_fed
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.state.migrate import agreed_times, changed, moved_parts, rebucketed
from thalweg.engine.state.stored_state import stored_in
from thalweg.engine.storage.log import Epoch
from thalweg.engine.storage.manifest import Manifest, make_manifest
from thalweg.engine.storage.seed import Seed
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.layout import layout
from thalweg.ir.operators import Process
from thalweg.ir.plan import Plan
from thalweg.optimize.request import PlanRequest
from thalweg.runtime.columns import to_list
from thalweg.runtime.describe_bucket import describe_bucket
from thalweg.runtime.frame import Frame

seen: Counter[str] = Counter()
MUST_BE_SEEN = (
    *("more channels", "fewer channels", "more buckets", "fewer buckets", "another fusion", "same degrees"),
    *("moved into tables", "moved out of tables"),
    *("moved tables", "moved objects", "moved event times", "moved twice", "something fed back at a move"),
    *(f"moved {k}" for k in ("aggregate", "join", "custom", "sort", "dedup", "operator", "loop", "top_k")),
)


REMEMBERING = (
    *("window", "window", "window", "apply", "apply", *["loop"] * 4, "custom", "operator"),
    *("dedup", "sort buffer", "meet", "wide join"),
)


@dataclass(frozen=True)
class Moves:
    """A case, and after which epochs its state moves into which plan."""

    case: Case
    moves: tuple[tuple[int, PlanChoice], ...]

    def plan(self, graph: LogicalGraph, choice: PlanChoice) -> Plan:
        said = self.case.choice.control  # which sinks have an order must not change
        return replace(self.case, choice=replace(choice, control=said)).plan(graph, routes={})


@st.composite
def moves(draw: DrawFn) -> Moves:
    """Random cases with many epochs, and in each an operator more that remembers something."""
    case = draw(cases())
    kind = draw(st.sampled_from(REMEMBERING))
    arguments, _ = derived.draw_arguments(draw, kind, failing=False)
    more = Node(kind, (0,) * (1 + derived.MORE_INPUTS.get(kind, 0)), arguments)
    case = replace(case, nodes=(*case.nodes, more), max_tuples=draw(st.sampled_from((3, 7, 1, 12, 5))))
    times = draw(st.sampled_from((1, 1, 2)))
    return Moves(case, tuple((draw(st.integers(0, 4)), draw(plan_choices())) for _ in range(times)))


@pytest.fixture(scope="module", autouse=True)
def _no_power_cuts() -> Iterator[None]:
    """Hundreds of seeds need no fsync."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@settings(SETTINGS, max_examples=share(5))
@given(moves())
def test_a_move_never_changes_the_answer(moves: Moves) -> None:
    with prepared(moves.case) as ready:
        expected = run_reference(ready.graph, ready.epochs)
        last = len(ready.epochs) - 1  # the final one: nothing follows it
        numbers = sorted(number % last for number, _ in moves.moves) if last else []
        steps = [(n, moves.plan(ready.graph, choice)) for n, (_, choice) in zip(numbers, moves.moves, strict=False)]
        note(f"{ready.describe()}\n\nmoves: {moves.moves}")
        seen["cases"] += 1
        found = _run(ready.plan, ready.epochs, steps, ready.folder / "seeds")
        assert difference(expected, found, ready.plan.graph) is None


def _run(plan: Plan, epochs: list[Epoch], steps: list[tuple[int, Plan]], folder: Path) -> Outcome:
    """Epoch after epoch, with a move after the epochs with these numbers. No tuple fails in these cases."""
    engine = LocalEngine(plan)
    manifest = make_manifest(plan, "local", ())
    answer: Answer = {sink.name: [] for sink in plan.graph.sinks}
    fed: dict[str, Frame] = {}
    moved = 0
    for epoch in until_nothing_is_fed(epochs, lambda: bool(fed)):
        sent = engine.run_epoch(epoch, fed)
        fed = fed_back(plan.graph, sent)
        for name, frame in sent.items():
            if frame is not None:
                answer[name] += zip(*map(to_list, frame.columns.values()), strict=True)
        while moved < len(steps) and epoch.number == steps[moved][0]:
            into = steps[moved][1]
            manifest, seed = _moved(engine, manifest, into, folder / str(moved))
            _count(plan.graph, engine.plan, into, seed, fed)
            engine = LocalEngine(into, seed.states(into))
            moved += 1
            seen["moved twice"] += moved > 1
    return Outcome(answer)


def _moved(engine: LocalEngine, manifest: Manifest, into: Plan, folder: Path) -> tuple[Manifest, Seed]:
    """As `migrate` does it, without the rest of a checkpoint."""
    state = stored_in([(c, b, data) for (_, c), held in engine.state.items() for b, data in held.items()])
    degrees = {o.name: into.decisions[o.name].degree or 0 for o in into.graph.stateful}
    wanted = changed(manifest, PlanRequest(degree=degrees, buckets=into.buckets))
    assert (wanted.degrees, wanted.routes) == (degrees, {})
    wanted = replace(wanted, assignments=make_manifest(into, "local", ()).assignments)
    buckets, _ = moved_parts(state, rebucketed(state, wanted), manifest, wanted)
    seed = Seed(folder)
    seed.write(buckets, agreed_times(state, manifest))
    return wanted, seed


def _count(graph: LogicalGraph, old: Plan, new: Plan, seed: Seed, fed: dict[str, Frame]) -> None:
    parts = [part for _, _, data in seed.buckets() for part in describe_bucket(data)]
    operators = {part.operator: graph.by_name[part.operator] for part in parts}
    facts = {
        "more channels": new.channels > old.channels,
        "fewer channels": new.channels < old.channels,
        "more buckets": new.buckets > old.buckets,
        "fewer buckets": new.buckets < old.buckets,
        "another fusion": layout(old).stages != layout(new).stages,
        "same degrees": old.degrees == new.degrees,
        "moved tables": any(not isinstance(o, Process) for o in operators.values()),
        "moved objects": any(isinstance(o, Process) for o in operators.values()),
        "moved event times": bool(seed.times()),
        "something fed back at a move": bool(fed),
        "moved into tables": bool(new.tables),
        "moved out of tables": bool(old.tables) and not new.tables,
    }
    seen.update(name for name, holds in facts.items() if holds and parts)
    seen.update({f"moved {o.kind}" for o in operators.values()})


def test_the_moves_reached_everything() -> None:
    """Runs last: a strategy that moves nothing would make the test above blind."""
    assert_reached(MUST_BE_SEEN, seen, enough=seen["cases"] >= 200)
