"""Applications inside a user's Spark program: `app.start` and `stream.to_dataframe`."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from thalweg.engine.core.run import RunOptions
from thalweg.engine.spark.running import SparkRunning
from thalweg.engine.spark.table import stream_table
from thalweg.errors import GraphError
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan import PhysicalPlan
from thalweg.lang.app import App
from thalweg.lang.embedding import Running
from thalweg.lang.params import is_loading
from thalweg.load import by_value
from thalweg.optimize.passes import read_plan
from thalweg.planning.run_plan import plan_run


def start(
    app: App,
    spark: SparkSession,
    *,
    checkpoint: str | Path | None,
    degree: int,
    fuse: str,
    plan: str | Path | None,
    follow: bool,
    max_tuples_per_epoch: int,
    overwrite: bool,
    keep_epochs: int | None,
) -> Running:
    _check(app, spark)
    folder = None if checkpoint is None else Path(checkpoint)
    made = _plan(by_value(app).graph(), degree, fuse, plan, folder)
    options = RunOptions(
        checkpoint=folder,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        overwrite=overwrite,
        keep_epochs=keep_epochs,
    )
    return SparkRunning(made, options, spark)


def to_dataframe(
    app: App,
    graph: LogicalGraph,
    spark: SparkSession,
    *,
    checkpoint: str | Path,
    degree: int,
    fuse: str,
    follow: bool,
    max_tuples_per_epoch: int,
) -> DataFrame:
    _check(app, spark)
    by_value(app)
    options = RunOptions(checkpoint=Path(checkpoint), follow=follow, max_tuples_per_epoch=max_tuples_per_epoch)
    return stream_table(spark, _plan(graph, degree, fuse, None, Path(checkpoint)), options)


def _plan(
    graph: LogicalGraph, degree: int, fuse: str, plan: str | Path | None, checkpoint: Path | None
) -> PhysicalPlan:
    if plan is None:
        return plan_run(graph, degree=degree, fuse=fuse, checkpoint=checkpoint).plan
    text = plan.read_text() if isinstance(plan, Path) else plan
    return read_plan(text, graph, degree)


def _check(app: App, spark: object) -> None:
    if is_loading():
        raise GraphError(
            "the application is run while its module is loaded",
            where=app.where,
            hint='put the call behind `if __name__ == "__main__":`',
        )
    if not isinstance(spark, SparkSession):
        raise GraphError("no Spark session", where=app.where, expected="a SparkSession", found=repr(spark))
