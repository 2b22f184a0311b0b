"""An application inside a Spark program of the user's. The language can be used without an engine, so the engine is
loaded when one of these is called."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from thalweg.endpoints.discard import Discard
from thalweg.errors import GraphError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.user_calls import call_place, user_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.lang.app import App, Stream

MAX_TUPLES = 1_000_000


class Running(Protocol):
    """A run in the background."""

    @property
    def active(self) -> bool:
        """Whether it is still at work."""

    @property
    def failure(self) -> BaseException | None:
        """What ended it, if it was an error."""

    @property
    def reports(self) -> Sequence[Any]:
        """What each of the last epochs did."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False if it did not come in so many seconds. Raises what ended the run."""

    def result(self) -> Any:
        """Wait for the end; what the run did, and what its collect sinks took."""

    def stop(self) -> Any:
        """Stop after the epoch in progress. A start on the same checkpoint goes on. Gives what `result` gives."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaving the block stops the run."""


def start(
    app: App,
    spark: SparkSession,
    *,
    checkpoint: str | Path | None = None,
    degree: int = 1,
    fuse: str = "all",
    plan: str | Path | None = None,
    follow: bool = True,
    max_tuples_per_epoch: int = MAX_TUPLES,
    overwrite: bool = False,
    keep_epochs: int | None = None,
) -> Running:
    """Run the application in the background, in a session of your own. `plan`: a plan's text, or the file with it."""
    running: Running = importlib.import_module("thalweg.embed").start(
        app,
        spark,
        checkpoint=checkpoint,
        degree=degree,
        fuse=fuse,
        plan=plan,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        overwrite=overwrite,
        keep_epochs=keep_epochs,
    )
    return running


def to_dataframe(
    stream: Stream,
    spark: SparkSession,
    *,
    checkpoint: str | Path,
    degree: int = 1,
    fuse: str = "all",
    follow: bool = True,
    max_tuples_per_epoch: int = MAX_TUPLES,
) -> DataFrame:
    """The stream's tuples as a streaming DataFrame, for one query of Spark's with any sink. Their order is not kept."""
    frame: DataFrame = importlib.import_module("thalweg.embed").to_dataframe(
        stream.app,
        graph_of(stream),
        spark,
        checkpoint=checkpoint,
        degree=degree,
        fuse=fuse,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
    )
    return frame


def graph_of(stream: Stream) -> LogicalGraph:
    """What of the application makes this stream, with one sink behind it."""
    where = call_place(user_frame())
    operators = {o.name: o for o in stream.app._operators}
    feeds = {o.endpoint.feeds: o for o in operators.values() if isinstance(o, Sink) and o.endpoint.feeds is not None}
    needed: set[str] = set()
    waiting = [stream.ref.operator]
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        needed.add(name)
        waiting += [s.operator for s in operators[name].inputs]
        waiting += [feeds[name].name] if name in feeds else []
    sink = Sink(name=f"{stream.ref}.dataframe", inputs=(stream.ref,), where=where, endpoint=Discard())
    kept: tuple[Operator, ...] = tuple(o for o in operators.values() if o.name in needed)
    graph = stream.app._finished((*kept, sink), open_ends=True)
    if graph.loops:
        raise GraphError(
            f"{stream.ref} depends on what {graph.loops[0].name} feeds back, epoch by epoch",
            where=where,
            expected="a stream without a loop before it, or with app.feedback(…, immediate=True)",
            hint="app.start(spark), with a sink",
        )
    return graph
