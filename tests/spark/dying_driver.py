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
from thalweg.engine.core import epoch_loop
from thalweg.engine.sinks import writers as sinks
from thalweg.engine.spark import run as spark_run
from thalweg.engine.spark.source import SplitReader, ThalwegSource
from thalweg.engine.storage import small_files as storage
from thalweg.engine.storage.checkpoint import Checkpoint

GROUP = os.getpgrp()


def die() -> NoReturn:
    os.killpg(GROUP, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)  # a worker has a group of its own
    raise AssertionError


def patch(owner: Any, name: str, value: Any) -> None:
    assert hasattr(owner, name)
    setattr(owner, name, value)


def after_log(epoch: int) -> None:
    """The epoch is in the input log; Spark's own log does not know it yet. In Spark's source process."""

    class DyingReader(SplitReader):
        def latestOffset(self, start: Any, limit: Any) -> dict[str, Any]:  # noqa: N802
            offset = super().latestOffset(start, limit)
            return die() if offset["epoch"] == epoch else offset

    class DyingSource(ThalwegSource):
        def streamReader(self, schema: Any) -> SplitReader:  # noqa: N802
            return DyingReader(self.options["job"])

    patch(spark_run, "ThalwegSource", DyingSource)


def while_reading(epoch: int) -> None:
    """Tasks of the epoch are at work. In a task."""

    class DyingReader(SplitReader):
        def read(self, partition: Any) -> Any:
            return die() if partition.pulse.epoch == epoch else super().read(partition)

    class DyingSource(ThalwegSource):
        def streamReader(self, schema: Any) -> SplitReader:  # noqa: N802
            return DyingReader(self.options["job"])

    patch(spark_run, "ThalwegSource", DyingSource)


def before_sinks(epoch: int) -> None:
    """State stores have committed the epoch; no sink has it."""

    def dying(writers: Any, number: int, frames: Any, *, final: bool) -> dict[str, int]:
        return die() if number == epoch else sinks.write_epoch(writers, number, frames, final=final)

    patch(epoch_loop, "write_epoch", dying)


def inside_sink(epoch: int) -> None:
    """The first sink has the epoch; of the second one's file half is on the disk."""
    write_part, last = storage._write_part, "kept"

    def dying(file: Path, data: bytes, *, durable: bool, private: bool = True) -> Path:
        if file.parent.name == last and file.name.startswith(f"epoch-{epoch:010d}"):
            write_part(file, data[: len(data) // 2], durable=durable, private=private)
            die()
        return write_part(file, data, durable=durable, private=private)

    patch(storage, "_write_part", dying)


def after_sinks(epoch: int) -> None:
    """All sinks have the epoch; there is no report, and Spark has not committed it."""

    def dying(writers: Any, number: int, frames: Any, *, final: bool) -> dict[str, int]:
        written = sinks.write_epoch(writers, number, frames, final=final)
        return die() if number == epoch else written

    patch(epoch_loop, "write_epoch", dying)


def before_mark(epoch: int) -> None:
    """Spark has committed the final epoch; the checkpoint is not marked as ended."""
    patch(Checkpoint, "mark_ended", lambda self: die())


POINTS: dict[str, Callable[[int], None]] = {
    f.__name__: f for f in (after_log, while_reading, before_sinks, inside_sink, after_sinks, before_mark)
}

if __name__ == "__main__":
    _, point, number, *sys.argv[1:] = sys.argv
    POINTS[point](int(number))
    main()
