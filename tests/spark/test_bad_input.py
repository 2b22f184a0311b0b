"""Bad records and dead letters on Spark: into files, the same as on the local engine and by the reference."""

from __future__ import annotations

import functools
import random
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.bad_files import Reading, expected, text_file
from thalweg import agg, window
from thalweg.engine.core.run import RunOptions
from thalweg.engine.local.run import run_local
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SourceJob
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.optimize.passes import make_plan
from thalweg.verify.reference import Reference

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def app_of(folder: Path, out: Path) -> tw.App:
    """The letters of a source, of an operator without state and of one with state, and the tuples that are left."""
    app = tw.App("letters")
    good = app.source(tw.files(folder, format="jsonl", on_error="dead_letter"), Reading, name="good")
    ratio = good.map(lambda t: {"s": t.s, "r": 100 // (t.i % 5)}, on_error="dead_letter", name="ratio")
    folded = ratio.aggregate(
        window.running(by="s"), s=agg.any("s"), q=agg.sum("r") / (agg.count() - 3), on_error="dead_letter", name="quot"
    )
    folded.sink(tw.files(out / "good", format="jsonl"), name="out")
    plain = good.dead_letters.map(lambda b: {"operator": b.operator, "error": b.error, "tuple": b.tuple})
    plain.union(ratio.dead_letters, folded.dead_letters).sink(tw.files(out / "letters", format="jsonl"), name="letters")
    good.dead_letters.sink(tw.files(out / "bad", format="arrow"), name="bad")
    return app


def files(folder: Path) -> dict[str, bytes]:
    return {f"{p.parent.name}/{p.name}": p.read_bytes() for p in sorted(folder.rglob("epoch-*"))}


def test_letters_of_all_kinds_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance, folder = random.Random(1), tmp_path / "in"
    folder.mkdir()
    written = [text_file(chance, folder / f"{n:03d}.jsonl", "jsonl", 60, 0.3) for n in range(2)]
    tuples, letters, left_out = expected(written)
    job = functools.partial(SourceJob, rows_per_task=10)  # so that several tasks share a file
    monkeypatch.setattr(spark_run, "SourceJob", job)
    app = app_of(folder, tmp_path / "spark")
    options = RunOptions(tmp_path / "checkpoint", max_tuples_per_epoch=50)
    result = spark_run.run_spark(make_plan(app.graph(), degree=2), options, lambda report: None)
    assert result.left_out == {"good": left_out}
    log = list(Checkpoint(tmp_path / "checkpoint").log)
    assert [epoch.tuples for epoch in log] == [50, 50, 20, 0]
    wanted = Reference(app.graph()).run(log)
    assert result.tuples_out == {name: len(rows) for name, rows in wanted.items()}
    assert {operator for operator, _, _ in wanted["letters"]} == {"good", "ratio", "quot"}

    local = app_of(folder, tmp_path / "local")
    again = run_local(make_plan(local.graph()), RunOptions(None, max_tuples_per_epoch=50), lambda report: None)
    assert files(tmp_path / "spark") == files(tmp_path / "local")
    assert again.left_out == result.left_out
    kept = [pa.ipc.open_file(f).read_all().to_pylist() for f in sorted((tmp_path / "spark" / "bad").glob("epoch-*"))]
    assert [(Path(b["path"]).stem, b["row"]) for rows in kept for b in rows] == [(f"{f:03d}", r) for _, f, r in letters]
    assert len(tuples) > 50
