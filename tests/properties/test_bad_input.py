"""Files with random bad records: what was meant, the reference and the local engine agree, under any plan and cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import thalweg as tw
from tests.amount import share
from tests.bad_files import Reading, expected, write_file
from tests.properties.check import Outcome, difference, run_local, run_reference
from tests.properties.strategies import cut_all
from thalweg import agg, window
from thalweg.engine.local.serial import LocalEngine
from thalweg.ir.graph import LogicalGraph
from thalweg.optimize.passes import make_plan

FORMATS = ("csv", "jsonl", "parquet", "arrow")


def graph_of(folder: Path, format: str, on_error: str) -> LogicalGraph:
    app = tw.App("bad")
    good = app.source(tw.files(folder, format=format, on_error=on_error), Reading, name="good")
    good.sink(tw.collect(), name="tuples")
    good.map(lambda t: {"s": t.s}).sink(tw.collect(), name="few")  # reads less than all attributes
    folded = good.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count(), total=agg.sum("x"))
    folded.sink(tw.collect(), name="sums")
    if on_error == "dead_letter":
        good.dead_letters.sink(tw.collect(), name="letters")
        rows = good.dead_letters.map(lambda t: {"i": t.row, "s": t.tuple})
        good.map(lambda t: {"i": t.i, "s": t.s}).union(rows).sink(tw.collect(), name="both")
        rows.aggregate(window.running(by="s"), s=agg.any("s"), n=agg.count()).sink(tw.collect(), name="counts")
    return app.graph()


def positions(graph: LogicalGraph, epochs: list[Any], sink: str) -> list[int]:
    """Of the tuples that reach a sink."""
    frames = [f for found in LocalEngine(make_plan(graph)).run_log(epochs) if (f := found[sink]) is not None]
    return [int(p) for frame in frames for p in frame.position]


@pytest.mark.parametrize("format", FORMATS)
def test_bad_records_change_nothing_else(tmp_path: Path, format: str) -> None:
    for seed in range(share(70)):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        files = [write_file(chance, folder, n, format) for n in range(chance.randrange(1, 4))]
        tuples, letters, left_out = expected(files)
        for on_error in ("dead_letter", "skip"):
            graph = graph_of(folder, format, on_error)
            epochs = cut_all(graph, chance.choice([1, 3, 7, 1000]))
            assert sum(epoch.tuples for epoch in epochs) == sum(file.rows for file in files), f"seed {seed}"
            wanted = run_reference(graph, epochs)
            assert wanted.answer["tuples"] == [values for _, values in tuples], f"seed {seed}"
            assert positions(graph, epochs, "tuples") == [position for position, _ in tuples], f"seed {seed}"
            if on_error == "dead_letter":
                found = [(Path(path).stem, row) for _, _, _, path, row in wanted.answer["letters"]]
                assert found == [(f"{number:03d}", row) for _, number, row in letters], f"seed {seed}"
                assert positions(graph, epochs, "letters") == [position for position, _, _ in letters]
            _other_plans(graph, wanted, chance, left_out, seed)


def _other_plans(graph: LogicalGraph, wanted: Outcome, chance: random.Random, left_out: int, seed: int) -> None:
    """Also with other cuts, and other splits of an epoch among channels: one source, so they do not matter."""
    for degree, fuse in ((1, "all"), (2, "none"), (3, "all")):
        plan = make_plan(graph, degree=degree, fuse=fuse, frame_rows=chance.choice([2, 1000]))
        epochs = cut_all(graph, chance.choice([1, 2, 5, 1000]))
        found = run_local(plan, epochs, through_bytes=chance.random() < 0.5)
        assert difference(wanted, found) is None, f"seed {seed}, degree {degree}, fuse {fuse}"
        engine, counted = LocalEngine(plan), 0
        for epoch in epochs:
            engine.run_epoch(epoch)
            counted += sum(engine.counts.skipped.values())
        assert counted == left_out, f"seed {seed}"
