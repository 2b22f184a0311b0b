"""Measure how often the keys of each operator occur in a sample of the real input, by bucket.

The sample runs through the local engine on one channel, with a sink on every stream that feeds state with a key: the
engine processes a tuple in the same way with and without a measurement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.analysis.safety import check_safety
from thalweg.endpoints.collect import Collect
from thalweg.engine.inputs.feeders import spool_items
from thalweg.engine.inputs.sample_log import sample_log
from thalweg.engine.local.serial import LocalEngine
from thalweg.engine.storage.log import Epoch
from thalweg.errors import TupleError, warn
from thalweg.ir.error_places import with_places
from thalweg.ir.expr import Attr, Record
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Function, Map, Operator, Pace, Sink, StreamRef
from thalweg.ir.plan import DEFAULT_FRAME_ROWS, Plan
from thalweg.ir.profile import Loads
from thalweg.ir.types import TupleType
from thalweg.optimize.context import Context
from thalweg.optimize.fuse import Fuse
from thalweg.optimize.passes import one_by_one, run_passes
from thalweg.runtime.frame import Frame
from thalweg.runtime.keys import buckets_of, keys_of

SAMPLE_TUPLES = 200_000
_PER_EPOCH = 50_000

Tap = tuple[str, StreamRef, tuple[str, ...]]  # an operator, a stream that feeds it, and the key there


def measure_keys(graph: LogicalGraph, buckets: int, tuples: int = SAMPLE_TUPLES) -> Loads:
    """The loads of a sample of at most `tuples` tuples of the sources."""
    check_safety(graph)
    with with_places(graph), tempfile.TemporaryDirectory(prefix="thalweg-sample-") as folder:
        spool_items(graph.sources, Path(folder), tuples)
        log = sample_log(graph, tuples, min(tuples, _PER_EPOCH), Path(folder))
        return measure_log(graph, log, buckets)


def measure_log(graph: LogicalGraph, log: list[Epoch], buckets: int) -> Loads:
    """The loads of a log, or of its part before the epoch in which a tuple fails: a run will report the failure."""
    taps = list(keyed_inputs(graph))
    loads = {name: np.zeros(buckets, np.int64) for name, _, _ in taps}
    done: list[Epoch] = []
    with closing(LocalEngine(_tapped_plan(graph, taps))) as engine:
        try:
            for found in engine.run_log(_noting(log, done)):
                for index, (name, _, key) in enumerate(taps):
                    loads[name] += _by_bucket(found[_sink(index)], key, buckets)
        except TupleError as error:
            warn(f"the sample ends where a tuple fails: {error.message}, at {error.operator}")
    counted = {name: tuple(at.tolist()) for name, at in loads.items()}
    return Loads(buckets, sum(epoch.tuples for epoch in done), counted)


def _noting(log: list[Epoch], done: list[Epoch]) -> Iterator[Epoch]:
    """The log; each epoch is added to `done` when the next is requested, that is, when it ran without a failure."""
    for epoch in log:
        yield epoch
        done.append(epoch)


def keyed_inputs(graph: LogicalGraph) -> Iterator[Tap]:
    """The inputs that are routed by key in every plan: the ports of state with a key. Ports of marks have none."""
    for operator in graph.stateful:
        for port, stream in enumerate(operator.inputs):
            if key := operator.port_key(port):
                yield operator.name, stream, key


def _by_bucket(frame: Frame | None, key: tuple[str, ...], buckets: int) -> Any:
    if frame is None:
        return 0
    keys = keys_of([frame.columns[name] for name in key], len(frame))
    return np.bincount(buckets_of(keys.distinct, buckets)[keys.codes], minlength=buckets)


def _tapped_plan(graph: LogicalGraph, taps: list[Tap]) -> Plan:
    """The graph on one channel, with the keys of every tap as a sink. Pacing is disabled: that changes no tuple."""
    operators: list[Operator] = [_at_once(operator) for operator in graph.operators]
    for index, (_, stream, key) in enumerate(taps):
        operators += _tap(graph, index, stream, key)
    tapped = replace(graph, operators=tuple(operators))
    return run_passes(one_by_one(tapped, DEFAULT_FRAME_ROWS), (Fuse(),), Context(tapped.analyses))


def _at_once(operator: Operator) -> Operator:
    return replace(operator, delay_s=0.0, rate_per_s=None) if isinstance(operator, Pace) else operator


def _tap(graph: LogicalGraph, index: int, stream: StreamRef, key: tuple[str, ...]) -> tuple[Operator, Operator]:
    """Only the key: a tap must not make the sources read attributes that no run reads."""
    where, whole = graph.by_name[stream.operator].where, graph.type_of(stream)
    kinds = tuple((name, whole.kind(name)) for name in dict.fromkeys(key))
    fields = Record(tuple((name, Attr(name, kind)) for name, kind in kinds))
    function = Function(_picker([name for name, _ in kinds]), where, fields)
    name = f"keys {index}"
    picked = Map(name=name, inputs=(stream,), where=where, outputs=(TupleType(name, kinds),), function=function)
    return picked, Sink(name=_sink(index), inputs=(StreamRef(name, 0),), where=where, endpoint=Collect())


def _picker(names: list[str]) -> Callable[[Any], dict[str, Any]]:
    return lambda row: {name: getattr(row, name) for name in names}


def _sink(index: int) -> str:
    return f"tap {index}"
