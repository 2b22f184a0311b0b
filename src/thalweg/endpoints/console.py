"""`tw.console`: tuples on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thalweg.endpoints.checks import require
from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir.arguments import Count, checked
from thalweg.ir.endpoints import SinkEndpoint, SinkSite
from thalweg.ir.types import TupleType

if TYPE_CHECKING:
    from thalweg.engine.sinks.console_writer import ConsoleSink


@checked
def console(rows: Count | None = 20, *, live: bool = False, key: str | Iterable[str] = ()) -> Console:
    """A sink that prints the first `rows` tuples of each epoch; None: all.

    With `live`, on a terminal: a table of the last tuples, or with `key` of the last tuple of each key, that is kept up
    to date. Without a terminal, `live` has no effect.
    """
    by = (key,) if isinstance(key, str) else tuple(key)
    require(live or not by, "console: key requires a live table", "console(live=True, key=…)", by)
    return Console(rows, live, by)


@dataclass(frozen=True, slots=True)
class Console(SinkEndpoint):
    """A sink that prints the first tuples of each epoch; None: all. With `live`, on a terminal: a table of the last
    tuples, or of the last tuple of each key."""

    rows: int | None
    live: bool = False
    key: tuple[str, ...] = ()

    call = "tw.console()"
    needs_spark = False
    placed = False  # printed tuples are not printed again
    shows_order = True
    target = None
    folder = None
    sink_row = (
        "`tw.console(rows=20)`",
        "the first tuples of each epoch on the terminal; with `live=True` a table of the last ones",
        "kept",
        "none: what a killed run did not print is not printed later",
    )

    def check_sink(self, tuple_type: TupleType, where: Where) -> None:
        for name in self.key:
            if tuple_type.get(name) is None:
                raise GraphError(
                    f"console: no attribute {name}",
                    where=where,
                    expected=str(tuple_type),
                    hint=did_you_mean(name, tuple_type.names),
                )

    def writer(self, site: SinkSite) -> ConsoleSink:
        from thalweg.engine.sinks.console_writer import ConsoleSink

        return ConsoleSink(site.results, site.sink.name, site.tuple_type, self.rows, live=self.live, key=self.key)
