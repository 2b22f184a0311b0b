"""Applications inside a user's Spark program: `app.start` and `stream.to_dataframe`."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession

from thalweg.engine.core.run import RunOptions
from thalweg.engine.spark.background_run import SparkRunning
from thalweg.engine.spark.stream_dataframe import stream_table
from thalweg.errors import GraphError, kept_warnings, shown
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.plan_options import PlanOptions
from thalweg.lang.app import App
from thalweg.lang.embedding import BackgroundRun
from thalweg.lang.params import is_loading
from thalweg.load import by_value
from thalweg.optimize.request import PlanRequest
from thalweg.planning.run_plan import closed, plan_run


def start(
    app: App,
    spark: SparkSession,
    *,
    checkpoint: str | Path | None,
    follow: bool,
    max_tuples_per_epoch: int,
    overwrite: bool,
    keep_epochs: int | None,
    **options: Unpack[PlanOptions],
) -> BackgroundRun:
    _check(app, spark)
    request = PlanRequest.of(**options)
    folder = None if checkpoint is None else Path(checkpoint)
    with kept_warnings() as warned:
        planned = plan_run(by_value(app).graph(), request, folder)
    run_options = RunOptions(
        checkpoint=folder,
        follow=follow,
        max_tuples_per_epoch=max_tuples_per_epoch,
        overwrite=overwrite,
        keep_epochs=keep_epochs,
    )
    return SparkRunning(closed(planned.plan), run_options, spark, tuple(warned))


def to_dataframe(
    app: App,
    graph: LogicalGraph,
    spark: SparkSession,
    *,
    checkpoint: str | Path,
    follow: bool,
    max_tuples_per_epoch: int,
    **options: Unpack[PlanOptions],
) -> DataFrame:
    _check(app, spark)
    request = PlanRequest.of(**options)
    by_value(app)
    run_options = RunOptions(checkpoint=Path(checkpoint), follow=follow, max_tuples_per_epoch=max_tuples_per_epoch)
    return stream_table(spark, closed(plan_run(graph, request, Path(checkpoint)).plan), run_options)


def _check(app: App, spark: object) -> None:
    if is_loading():
        raise GraphError(
            "the application is run while its module is being loaded",
            where=app.where,
            hint='put the call under `if __name__ == "__main__":`',
        )
    if not isinstance(spark, SparkSession):
        raise GraphError("not a Spark session", where=app.where, expected="a SparkSession", found=shown(spark))
