"""A test's tuples as a separate input log: spools in a temporary folder, with epochs cut as the test specifies."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg.endpoints.collect import Collect
from thalweg.endpoints.iterable import Items
from thalweg.engine.inputs.cutter import EpochCutter
from thalweg.engine.inputs.spool import End, Spool
from thalweg.engine.storage.log import Epoch, InputLog
from thalweg.errors import InputError, did_you_mean, shown
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.operators import Operator, Sink, Source
from thalweg.ir.types import TupleType
from thalweg.ir.user_tuples import unpack

Given = Sequence[Any]  # tuples (a tw.Tuple, a dict or a plain tuple each), or lists of tuples: one list per epoch
Inputs = Mapping[str, Given]
_ALL = 2**62  # more tuples than an epoch will ever hold


@dataclass(frozen=True)
class FedGraph:
    """The graph with replaced endpoints, and the log of the test's tuples, which ends with the end of the input."""

    graph: LogicalGraph
    epochs: tuple[Epoch, ...]
    folder: Path


@contextmanager
def fed(graph: LogicalGraph, inputs: Inputs, epochs: int | None) -> Iterator[FedGraph]:
    _check_names(graph, inputs)
    cut = {s.name: _cut(s, inputs[s.name], epochs) for s in graph.sources}
    with tempfile.TemporaryDirectory(prefix="thalweg-test-") as name:
        folder = Path(name)
        there = replace(graph, operators=tuple(_redirected(o) for o in graph.operators))
        yield FedGraph(there, _log(there, cut, folder / "spools", InputLog(folder / "log")), folder)


def _redirected(operator: Operator) -> Operator:
    if isinstance(operator, Source):
        return replace(operator, endpoint=Items(None))
    if isinstance(operator, Sink) and operator.endpoint.feeds is None:
        return replace(operator, endpoint=Collect())
    return operator


def _log(graph: LogicalGraph, cut: Mapping[str, list[list[Any]]], folder: Path, log: InputLog) -> tuple[Epoch, ...]:
    """Each epoch's tuples are spooled right before it is cut, so it contains exactly these tuples."""
    cutter = EpochCutter(graph.sources, log, _ALL, folder)
    spools = {s.name: Spool.of(folder, s.name) for s in graph.sources}
    files = dict.fromkeys(spools, 0)
    for spool in spools.values():
        spool.open()
    for number in range(max(map(len, cut.values()))):
        for source in graph.sources:
            parts = cut[source.name]
            if number < len(parts) and parts[number]:
                spools[source.name].write(files[source.name], parts[number], source.outputs[0])
                files[source.name] += 1
        cutter.next_epoch(closing=False, idle=True)
    for spool in spools.values():
        spool.mark_end(End())
    cutter.next_epoch(closing=True)
    return tuple(log)


def flat(inputs: Inputs) -> Inputs:
    """The same tuples without their epochs."""
    return {
        name: [row for item in given for row in (item if isinstance(item, list) else [item])]
        for name, given in inputs.items()
    }


def _check_names(graph: LogicalGraph, inputs: Inputs) -> None:
    names = [s.name for s in graph.sources]
    for name in inputs:
        if name not in names:
            raise InputError(f"no source {name!r}", expected=", ".join(names), hint=did_you_mean(name, names))
    for source in graph.sources:
        if source.name not in inputs:
            raise InputError(
                f"no tuples are given for the source {source.name}",
                operator=source.name,
                where=source.where,
                expected="tuples for every source",
                hint=f'"{source.name}": [] feeds no tuples',
            )


def _cut(source: Source, given: Given, epochs: int | None) -> list[list[tuple[Any, ...]]]:
    """The source's tuples by epoch, checked."""
    nested = [isinstance(item, list) for item in given]
    if any(nested) and not all(nested):
        raise InputError(
            f"{source.name}: tuples and epochs are mixed", expected="tuples only, or a list of tuples for each epoch"
        )
    if any(nested):
        if epochs is not None:
            raise InputError(f"{source.name}: epochs are specified twice", expected="lists of tuples, or epochs=")
        return [_checked(source, rows, before=sum(map(len, given[:i]))) for i, rows in enumerate(given)]
    if epochs is not None and epochs < 1:
        raise InputError("the number of epochs must be at least 1", found=f"epochs={epochs}")
    rows, parts = _checked(source, given, before=0), epochs or 1
    return [rows[len(rows) * i // parts : len(rows) * (i + 1) // parts] for i in range(parts)]


def _named(tuple_type: TupleType, row: Any) -> Any:
    if type(row) is not tuple:
        return row
    if len(row) != len(tuple_type.names):
        raise ValueError(f"it has {len(row)} values for {len(tuple_type.names)} attributes")
    return dict(zip(tuple_type.names, row, strict=True))


def _checked(source: Source, rows: Sequence[Any], before: int) -> list[tuple[Any, ...]]:
    tuple_type = source.outputs[0]
    found = []
    for index, row in enumerate(rows, before):
        try:
            found.append(unpack(_named(tuple_type, row), tuple_type))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"tuple {index} of {source.name} does not match its type: {error}",
                operator=source.name,
                where=source.where,
                expected=str(tuple_type),
                found=shown(row),
            ) from None
    return found
