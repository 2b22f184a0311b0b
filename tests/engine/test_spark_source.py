"""The split source of the Spark engine, asked as Spark asks it. No JVM."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tests.small import PER_EPOCH, Small
from thalweg.codegen.pe import compile_plan
from thalweg.engine.checkpoint import Checkpoint
from thalweg.engine.spark.source import SourceJob, SplitReader
from thalweg.optimize.passes import make_plan

ALL = ReadAllAvailable()


@pytest.fixture
def small(tmp_path: Path) -> Small:
    small = Small.make(tmp_path / "small", files=0)
    (small.folder / "ticks").mkdir(parents=True)
    return small


def reader(small: Small, interval_s: float) -> SplitReader:
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
    )
    return SplitReader(job.to_option())


def test_the_first_epoch_is_waited_for(small: Small) -> None:
    """Spark takes the first answer for an epoch, also one that says that nothing is new; later answers may say so."""
    source = reader(small, interval_s=0.05)
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
    assert offset["epoch"] == 0
    second = source.latestOffset(offset, ALL)
    assert second["epoch"] == 1
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
