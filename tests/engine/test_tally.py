"""The figures that a run keeps about its epochs."""

from __future__ import annotations

import gc

import thalweg as tw
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.storage.report import EpochReport
from thalweg.optimize.passes import make_plan


class Number(tw.Tuple):
    i: int


def test_a_run_adds_its_epochs_up_and_keeps_none() -> None:
    app = tw.App("many_epochs")
    numbers = app.source(tw.beacon(lambda i: {"i": i}, count=40), Number)
    numbers.filter(lambda t: t.i % 2 == 0).sink(tw.none(), name="out")
    alive: list[int] = []

    def watch(report: EpochReport) -> None:
        if report.epoch in (0, 40):
            gc.collect()
            alive.append(sum(isinstance(thing, EpochReport) for thing in gc.get_objects()))

    result = run_local(make_plan(app.graph()), RunOptions(max_tuples_per_epoch=1), watch)
    assert (result.epochs, result.tuples_in, result.tuples_out) == (41, 40, {"out": 20})
    first, last = alive
    assert last <= first + 1, "the epoch's own, and what they add up to"
