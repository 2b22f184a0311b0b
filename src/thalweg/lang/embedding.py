"""Applications inside a user's Spark program. The language can be used without an engine, so the code that runs an
application is provided from outside and loaded when one of these functions is called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, Unpack

from thalweg.endpoints.discard import Discard
from thalweg.errors import GraphError
from thalweg.ir.arguments import Count, checked
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink
from thalweg.ir.plan_options import PlanOptions
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.embedding_loader import loaded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from thalweg.lang.app import App, Stream

MAX_TUPLES = 1_000_000


class BackgroundRun(Protocol):
    """A run in the background."""

    @property
    def active(self) -> bool:
        """Whether it is still running."""

    @property
    def failure(self) -> BaseException | None:
        """The error that ended it, if any."""

    @property
    def reports(self) -> Sequence[Any]:
        """The reports of the last epochs."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; False after `timeout` seconds. Raises the error that ended the run."""

    def result(self) -> Any:
        """Wait for the end; returns the result of the run, with the tuples of its collect sinks."""

    def stop(self) -> Any:
        """Stop after the epoch in progress. A start on the same checkpoint resumes. Returns the same as `result`."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaving the block stops the run."""


class Embedding(Protocol):
    """The interface of the code that runs applications inside a Spark program."""

    def start(
        self,
        app: App,
        spark: SparkSession,
        *,
        checkpoint: str | Path | None,
        follow: bool,
        max_tuples_per_epoch: int,
        overwrite: bool,
        keep_epochs: int | None,
        **options: Unpack[PlanOptions],
    ) -> BackgroundRun: ...

    def to_dataframe(
        self,
        app: App,
        graph: LogicalGraph,
        spark: SparkSession,
        *,
        checkpoint: str | Path,
        follow: bool,
        max_tuples_per_epoch: int,
        **options: Unpack[PlanOptions],
    ) -> DataFrame: ...


def _embedding() -> Embedding:
    found: Embedding = loaded()
    return found


@checked
def start(
    self: App,
    spark: SparkSession,
    *,
    checkpoint: str | Path | None = None,
    follow: bool = True,
    max_tuples_per_epoch: Count = MAX_TUPLES,
    overwrite: bool = False,
    keep_epochs: Count | None = None,
    **options: Unpack[PlanOptions],
) -> BackgroundRun:
    """Run the application in the background, in an existing session. The other options are those of `tw.run`:
    degree, fuse, buckets, balance, rules, frame_rows and plan (a plan's text, or the file with it)."""
    return _embedding().start(
        self,
        spark,
        checkpoint=checkpoint,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        overwrite=overwrite,
        keep_epochs=keep_epochs,
        **options,
    )


@checked
def to_dataframe(
    stream: Stream,
    spark: SparkSession,
    *,
    checkpoint: str | Path,
    follow: bool = True,
    max_tuples_per_epoch: Count = MAX_TUPLES,
    **options: Unpack[PlanOptions],
) -> DataFrame:
    """The stream's tuples as a streaming DataFrame, for one Spark query with any sink. Their order is not kept.
    The other options are those of `tw.run`."""
    return _embedding().to_dataframe(
        stream.app,
        graph_of(stream),
        spark,
        checkpoint=checkpoint,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        **options,
    )


def graph_of(stream: Stream) -> LogicalGraph:
    """The part of the application that makes this stream, with one sink after it."""
    where = call_place(user_frame())
    operators = {o.name: o for o in stream.app._distinct()}
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
            f"{stream.ref} depends on tuples that {graph.loops[0].name} feeds back, epoch by epoch",
            where=where,
            expected="a stream without a loop upstream, or with app.feedback(…, immediate=True)",
            hint="app.start(spark), with a sink",
        )
    return graph
