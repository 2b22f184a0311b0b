"""The five kernels of the paper, and nested composites: their regions as golden texts, their answers under many plans.

After a wanted change: THALWEG_UPDATE_GOLDEN=1 .venv/bin/python -m pytest tests/analysis/test_kernels.py, then read it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import thalweg as tw
from thalweg import agg, window
from thalweg.analysis.show_regions import order_text, regions_text
from thalweg.cli.find_app import load_app
from thalweg.explain import cut_invariance
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.text import print_plan
from thalweg.optimize.passes import make_plan
from thalweg.verify.check import check

EXAMPLES = Path(__file__).parents[2] / "examples" / "kernels"
GOLDEN = Path(__file__).parent.parent / "golden"
UPDATE = os.environ.get("THALWEG_UPDATE_GOLDEN") == "1"
KERNELS = ("network_monitoring", "page_rank", "twitter_nlp", "twitter_cep", "finance")


class Reading(tw.Tuple):
    room: str
    sensor: int
    value: float


@tw.composite
def smoothed(readings: tw.Stream, by: tuple[str, ...]) -> tw.Stream:
    """The innermost one: a state by key between two operators without."""
    valid = readings.filter(lambda t: t.value > -40.0, name="valid")
    mean = valid.aggregate(
        window.sliding(count=5, by=by),
        room=agg.any("room"),
        sensor=agg.last("sensor"),
        value=agg.mean("value"),
        name="mean",
    )
    return mean.map(lambda t: {"room": t.room, "sensor": t.sensor, "value": t.value / 1.0}, Reading, name="scaled")


@tw.composite
def watched(readings: tw.Stream, limit: float) -> tw.Stream:
    """Two of them with compatible keys, so one region goes through both and out of them."""
    fine = smoothed.named("fine")(readings, ("room", "sensor"))
    coarse = smoothed.named("coarse")(fine, ("room",))
    return coarse.filter(lambda t: t.value > limit, name="above")


def nested() -> LogicalGraph:
    app = tw.App("nested")
    readings = app.source(
        tw.beacon(lambda i: {"room": "abc"[i % 3], "sensor": i % 7, "value": float(i % 50)}, count=600),
        Reading,
        name="readings",
    )
    hot, cold = watched.named("hot")(readings, 24.0), watched.named("cold")(readings, -1.0)
    both = hot.union(cold, name="both")
    total = both.aggregate(window.running(), room=agg.last("room"), value=agg.sum("value"), name="total")
    total.sink(tw.collect(), name="out")
    return app.graph()


def kernel(name: str) -> LogicalGraph:
    return nested() if name == "nested" else load_app(str(EXAMPLES / f"{name}.py"), {}).graph()


@pytest.mark.parametrize("name", [*KERNELS, "nested"])
def test_regions(name: str) -> None:
    graph = kernel(name)
    parts: list[str] = []
    for rules in ("thalweg", "paper"):
        plan = make_plan(graph, degree=4, rules=rules)
        parts += [f"# {rules}", *regions_text(plan, rules), "", print_plan(plan), *order_text(plan), ""]
    text = "\n".join(parts).replace(f"{EXAMPLES}{os.sep}", "").replace(f"{__file__}:", "test_kernels.py:")
    file = GOLDEN / f"{'regions' if name == 'nested' else 'kernel'}_{name}.txt"
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), "THALWEG_UPDATE_GOLDEN=1 writes the golden files anew"


@pytest.mark.parametrize("name", [*KERNELS, "nested"])
def test_answers(name: str) -> None:
    graph = kernel(name)
    cut_invariant, _ = cut_invariance(graph)
    result = check(graph, tuples=600, plans=10, seed=1, cut_invariant=cut_invariant, progress=lambda done: None)
    assert (result.plans, result.difference, result.failure) == (10, None, None)
    assert all(result.sinks.values()), "a kernel that finds nothing shows nothing"
