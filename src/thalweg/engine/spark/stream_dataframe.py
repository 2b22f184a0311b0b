"""A stream as a streaming DataFrame: the frames after the last stage, split into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from thalweg.engine.core.run import RunOptions, opened
from thalweg.engine.core.stage_programs import first_failure
from thalweg.engine.spark.deploy import deployed
from thalweg.engine.spark.labels import balanced_labels
from thalweg.engine.spark.row_schema import arrow_schema, spark_schema
from thalweg.engine.spark.run import all_feeding, frames_of
from thalweg.engine.spark.session import query_session
from thalweg.engine.spark.wire import ERRORS, FAILURES, first_error, read_failures
from thalweg.errors import OutputError
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.ir.types import TupleType
from thalweg.runtime.arrow_types import Misfit, file_array
from thalweg.runtime.columns import to_arrow, to_list
from thalweg.runtime.frame import Frame, decode

ENGINE = "spark, as a DataFrame"  # in the manifest: the state is in the checkpoint of the user's query

# A DataFrame has no defined end. So the resources that it needs (the checkpoint's lock, the feeders) are kept until the
# program ends or the checkpoint is used again.
_held: dict[Path, ExitStack] = {}


def stream_table(spark: SparkSession, plan: Plan, options: RunOptions) -> DataFrame:
    """The tuples of the plan's only sink. The session of the DataFrame has the settings that its query needs."""
    assert options.checkpoint is not None
    folder = options.checkpoint.absolute()
    release(folder)
    (sink,) = plan.graph.sinks
    tuple_type = plan.graph.type_of(sink.inputs[0])
    with ExitStack() as stack:
        run = stack.enter_context(opened(plan, options, ENGINE, balanced_labels(plan.channels)))
        session = query_session(spark, options.conf, plan.channels)
        stack.enter_context(all_feeding(session, plan.graph, run.checkpoint, options))
        with deployed(session, plan.graph, run.checkpoint):
            frames = frames_of(session, plan, options, run)
            rows = rows_of_frames(layout(plan).sink_wire(sink).index, tuple_type)
            table = frames.mapInArrow(rows, spark_schema(tuple_type))
        _held[folder] = stack.pop_all()
    return table


def release(folder: Path) -> None:
    """Release a checkpoint and the resources that are kept for it."""
    held = _held.pop(folder, None)
    if held is not None:
        held.close()


def rows_of_frames(wire: int, tuple_type: TupleType) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = arrow_schema(tuple_type)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for arrived in batches:
            for stream, content in zip(arrived["stream"].to_pylist(), arrived["frame"], strict=True):
                if stream == ERRORS:
                    raise first_error([content.as_py()])
                if stream == FAILURES and (failure := first_failure(read_failures(content.as_py()))) is not None:
                    raise failure
                if stream == wire:
                    yield _rows(decode(content.as_buffer()), tuple_type, schema)

    return run


def _rows(frame: Frame, tuple_type: TupleType, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for (name, kind), field in zip(tuple_type.attributes, schema, strict=True):
        try:
            column = frame.columns[name]
            array = file_array(to_list(column), kind) if kind.boxed else to_arrow(column)
            arrays.append(array.cast(field.type))
        except Misfit as misfit:
            raise OutputError(
                f"attribute {name} does not fit into the DataFrame", expected=misfit.expected, found=misfit.found
            ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
