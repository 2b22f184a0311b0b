"""The split source of the Spark engine, called in the way Spark calls it, without a JVM."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import TaskContext
from pyspark.sql.streaming.datasource import ReadAllAvailable

import thalweg as tw
from tests.small import PER_EPOCH, Small
from thalweg.analysis.source_predicates import wanted
from thalweg.codegen.pe_module import compile_plan
from thalweg.engine.inputs.readers import readers
from thalweg.engine.spark.source import SourceJob, SplitReader
from thalweg.engine.spark.worker_notes import NoteFolder
from thalweg.engine.spark.worker_pes import pes_of
from thalweg.engine.storage.checkpoint import Checkpoint
from thalweg.engine.storage.log import Epoch
from thalweg.ir.layout import layout
from thalweg.optimize.passes import make_plan

ALL = ReadAllAvailable()


@pytest.fixture
def small(tmp_path: Path) -> Small:
    small = Small.make(tmp_path / "small", files=0)
    (small.folder / "ticks").mkdir(parents=True)
    return small


def reader(small: Small, interval_s: float, first_epoch: int = 0) -> SplitReader:
    plan = make_plan(small.graph())
    job = SourceJob(
        checkpoint=str(small.checkpoint),
        sources=plan.graph.sources,
        readers={},
        program=compile_plan(plan)[0][0],
        labels=(0,),
        tasks=1,
        max_tuples=PER_EPOCH,
        follow=True,
        interval_s=interval_s,
        first_epoch=first_epoch,
    )
    return SplitReader(job.to_option())


@pytest.mark.parametrize("before", [0, 1])
def test_the_first_epoch_is_waited_for(small: Small, before: int) -> None:
    """Spark uses the first answer for an epoch, even "nothing new"; only later answers may be "nothing new". The
    first epoch need not be epoch 0: earlier epochs may have run in a different checkpoint."""
    for number in range(before):
        Checkpoint(small.checkpoint).log.append(Epoch(number, ()))
    source = reader(small, interval_s=0.05, first_epoch=before)
    answers: list[dict[str, object]] = []
    first = threading.Thread(
        target=lambda: answers.append(source.latestOffset(source.initialOffset(), ALL)), daemon=True
    )
    first.start()
    first.join(0.5)
    assert answers == [], "there is nothing to say yet"
    small.add_ticks(0)
    first.join(60)
    (offset,) = answers
    assert offset["epoch"] == before
    second = source.latestOffset(offset, ALL)
    assert second["epoch"] == before + 1
    assert source.latestOffset(second, ALL) == second


def test_after_a_stop_no_epoch_is_cut(small: Small) -> None:
    small.add_ticks(0)
    source = reader(small, interval_s=60)
    offset = source.latestOffset(source.initialOffset(), ALL)
    checkpoint = Checkpoint(small.checkpoint)
    cut = checkpoint.cut_of(0)
    assert cut is not None
    assert (cut.backlog, checkpoint.cut_of(1)) == (20, None)
    checkpoint.ask_to_stop()
    assert source.latestOffset(offset, ALL) == offset
    assert len(list(checkpoint.log)) == 1


class Sized(tw.Tuple):
    i: int


class Named(tw.Tuple):
    i: int
    name: str


def test_the_final_epoch_closes_what_was_set_up_at_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(taskAttemptId=lambda: 0))
    app = tw.App("resources")
    numbers = app.source(tw.beacon(lambda i: {"i": i}, count=3), Sized)
    numbers.lookup([Named(1, "one")], Named, on="i", name="code").sink(tw.collect(), name="out")
    plan = make_plan(app.graph())
    assert len(layout(plan).stages) == 1
    job = SourceJob(
        checkpoint=str(tmp_path / "checkpoint"),
        sources=plan.graph.sources,
        readers=readers(plan.graph, {s.name: ("i",) for s in plan.graph.sources}, wanted=wanted),
        program=compile_plan(plan)[0][0],
        labels=(0,),
        tasks=1,
        max_tuples=PER_EPOCH,
        follow=False,
        interval_s=0.0,
    )
    source = SplitReader(job.to_option())
    offset, sets_up = source.initialOffset(), []
    for _ in range(2):
        before, offset = offset, source.latestOffset(offset, ALL)
        for part in source.partitions(before, offset):
            list(source.read(part))
        sets_up.append(list(pes_of(NoteFolder.of(job.checkpoint).folder).resources.made))
    assert offset["final"]
    assert sets_up == [["code"], []]
