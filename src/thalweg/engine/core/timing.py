"""Where an epoch's time goes, measured in the driver."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from thalweg.engine.sinks.writers import SinkWriter
from thalweg.runtime.frame import Frame


@dataclass(slots=True)
class Laps:
    """Seconds by part; the times of a part that is entered repeatedly are added up."""

    began: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def parts(self, total: float) -> dict[str, float]:
        """All parts, with the rest of the total as `other`."""
        return {**self.seconds, "other": max(0.0, total - sum(self.seconds.values()))}


def rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    """Rounded to microseconds, to keep reports readable."""
    return {name: round(value, 6) for name, value in seconds.items()}


@dataclass(frozen=True, slots=True)
class TimedSink:
    """A sink whose writing is timed."""

    name: str
    sink: SinkWriter
    laps: Laps

    def claim(self, run: str, *, overwrite: bool) -> None:
        self.sink.claim(run, overwrite=overwrite)

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        with self.laps.part(self.name):
            return self.sink.write(epoch, frame, final=final)

    def show(self, epoch: int, out: TextIO) -> None:
        self.sink.show(epoch, out)


def timed(sinks: Mapping[str, SinkWriter], laps: Laps) -> dict[str, SinkWriter]:
    return {name: TimedSink(name, sink, laps) for name, sink in sinks.items()}
