"""`tw.none`: tuples that are only counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from thalweg.ir.arguments import checked
from thalweg.ir.endpoints import SinkEndpoint, SinkSite, any_tuple_type

if TYPE_CHECKING:
    from thalweg.runtime.frame import Frame


@checked
def none() -> Discard:
    """A sink that only counts its tuples, for benchmarks."""
    return Discard()


@dataclass(frozen=True, slots=True)
class Discard(SinkEndpoint):
    """A sink that only counts its tuples."""

    call = "tw.none()"
    needs_spark = False
    placed = False
    shows_order = False
    target = None
    folder = None
    check_sink = any_tuple_type
    sink_row = ("`tw.none()`", "discarded, but counted", "", "")

    def writer(self, site: SinkSite) -> DiscardWriter:
        return DiscardWriter()


class DiscardWriter:
    """Counts tuples and stores nothing."""

    def claim(self, run: str, *, overwrite: bool) -> None:
        """No output, so nothing to claim."""

    def write(self, epoch: int, frame: Frame | None, *, final: bool) -> int:
        return 0 if frame is None else len(frame)

    def show(self, epoch: int, out: TextIO) -> None:
        """No output to show."""
