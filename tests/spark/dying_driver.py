"""`thalweg` with a death in it: python dying_driver.py POINT EPOCH run app.py …

It patches the engine so that driver, JVM and whatever is in their process group get SIGKILL at one point of one epoch.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from thalweg.cli.main import main
from thalweg.engine import sinks, storage
from thalweg.engine.checkpoint import Checkpoint, EpochReport
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SplitReader, ThalwegSource

GROUP = os.getpgrp()


def die() -> NoReturn:
    os.killpg(GROUP, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)  # a worker has a group of its own
    raise AssertionError


def after_log(epoch: int) -> None:
    """The epoch is in the input log; Spark's own log does not know it yet. In Spark's source process."""

    class DyingReader(SplitReader):
        def latestOffset(self, start: Any, limit: Any) -> dict[str, Any]:  # noqa: N802
            offset = super().latestOffset(start, limit)
            return die() if offset["epoch"] == epoch else offset

    class DyingSource(ThalwegSource):
        def streamReader(self, schema: Any) -> SplitReader:  # noqa: N802
            return DyingReader(self.options["job"])

    spark_run.ThalwegSource = DyingSource  # type: ignore[misc]


def while_reading(epoch: int) -> None:
    """Tasks of the epoch are at work. In a task."""

    class DyingReader(SplitReader):
        def read(self, partition: Any) -> Any:
            return die() if partition.pulse.epoch == epoch else super().read(partition)

    class DyingSource(ThalwegSource):
        def streamReader(self, schema: Any) -> SplitReader:  # noqa: N802
            return DyingReader(self.options["job"])

    spark_run.ThalwegSource = DyingSource  # type: ignore[misc]


def before_sinks(epoch: int) -> None:
    """State stores have committed the epoch; no sink has it."""

    def dying(writers: Any, number: int, frames: Any, *, final: bool) -> dict[str, int]:
        return die() if number == epoch else sinks.write_epoch(writers, number, frames, final=final)

    spark_run.write_epoch = dying


def inside_sink(epoch: int) -> None:
    """Half of the sink's file is on the disk."""
    write_beside = storage._write_beside

    def dying(file: Path, data: bytes, *, durable: bool) -> Path:
        if file.name.startswith(f"epoch-{epoch:010d}"):
            write_beside(file, data[: len(data) // 2], durable=durable)
            die()
        return write_beside(file, data, durable=durable)

    storage._write_beside = dying


def between_sinks(epoch: int) -> None:
    """The first sink has the epoch, the second has not."""

    def dying(writers: Any, number: int, frames: Any, *, final: bool) -> dict[str, int]:
        if number == epoch:
            sinks.write_epoch(dict(list(writers.items())[:1]), number, frames, final=final)
            die()
        return sinks.write_epoch(writers, number, frames, final=final)

    spark_run.write_epoch = dying


def after_sinks(epoch: int) -> None:
    """All sinks have the epoch; there is no report, and Spark has not committed it."""

    def dying(writers: Any, number: int, frames: Any, *, final: bool) -> dict[str, int]:
        written = sinks.write_epoch(writers, number, frames, final=final)
        return die() if number == epoch else written

    spark_run.write_epoch = dying


def after_report(epoch: int) -> None:
    """The epoch is reported; Spark has not committed it."""
    report = Checkpoint.report

    def dying(self: Checkpoint, done: EpochReport) -> None:
        report(self, done)
        if done.epoch == epoch:
            die()

    Checkpoint.report = dying  # type: ignore[method-assign]


def before_mark(epoch: int) -> None:
    """Spark has committed the final epoch; the checkpoint is not marked as ended."""
    Checkpoint.mark_ended = lambda self: die()  # type: ignore[method-assign]


POINTS: dict[str, Callable[[int], None]] = {
    f.__name__: f
    for f in (
        after_log,
        while_reading,
        before_sinks,
        inside_sink,
        between_sinks,
        after_sinks,
        after_report,
        before_mark,
    )
}

if __name__ == "__main__":
    _, point, number, *sys.argv[1:] = sys.argv
    POINTS[point](int(number))
    main()
