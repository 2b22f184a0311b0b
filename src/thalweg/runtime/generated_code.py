"""The generated code of a program, compiled once per process for any number of channels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from thalweg.ir.user_tracebacks import run_generated
from thalweg.runtime.pe_program import Program

# (pe, turn, *streams) -> the streams that later segments read; the form with brackets takes a stack after the turn.
Segment = Callable[..., tuple[Any, ...]]


class Generated:
    """The segments of a PE, in the order in which a turn passes through them."""

    def __init__(self, title: str, source: str, bracketed_source: str) -> None:
        self._title, self._bracketed_source = title, bracketed_source
        self._names: dict[str, Any] = {"__name__": f"thalweg_generated_{title}"}
        run_generated(source, title, self._names)
        self.segments: tuple[Segment, ...] = tuple(map(_without_warnings, self._names["SEGMENTS"]))

    @cached_property
    def bracketed(self) -> tuple[Segment, ...]:
        """The same segments with brackets around their calls, compiled when a frame is first run with them."""
        run_generated(self._bracketed_source, f"{self._title} bracketed", self._names)
        return tuple(map(_without_warnings, self._names["BRACKETED"]))


def _without_warnings(segment: Segment) -> Segment:
    """The segment without numpy's warnings about overflow, NaN and division by zero: kernels compute values that they
    then discard. The setting belongs to a thread, and a segment may run in any thread. It costs 1 µs per frame."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return segment(*arguments)

    return run


@lru_cache(maxsize=256)
def _generated(title: str, source: str, bracketed_source: str) -> Generated:
    return Generated(title, source, bracketed_source)


def generated(program: Program) -> Generated:
    return _generated(f"pe {program.id} {program.fingerprint}", program.source, program.bracketed_source)
