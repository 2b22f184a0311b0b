"""The call that runs an operator in generated code, for each kind of operator.

A kind that is missing here fails at import, with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.codegen.function_kernels import Functions
from thalweg.ir.completeness import complete
from thalweg.ir.expr import Record
from thalweg.ir.operators import (
    OPERATORS,
    Aggregate,
    EventTime,
    Feedback,
    Filter,
    FlatMap,
    Join,
    Map,
    MapBatches,
    Operator,
    Pace,
    Process,
    Punctor,
    RandomSplit,
    Sink,
    Source,
    Split,
    Union,
)
from thalweg.runtime.pane_folds import pane_folds


@dataclass(frozen=True, slots=True)
class CallSite:
    """The context of a call: the operator's name and variable, the text of its inputs, and live attributes by port."""

    name: str
    var: str
    inputs: str
    lives: tuple[tuple[str, ...], ...]  # of all output ports
    results: int  # the number of output ports that are not for dead letters
    width: int  # of the order key of its output

    @property
    def live(self) -> tuple[str, ...]:
        return self.lives[0]

    @property
    def result_lives(self) -> tuple[tuple[str, ...], ...]:
        return self.lives[: self.results]


def call_of(operator: Operator, site: CallSite, functions: Functions) -> str:
    """The expression that runs an operator. Its value is a frame or, with several output ports, a list of frames."""
    written = CALLS[type(operator)]
    call = written.write(operator, site, functions)
    ports = len(operator.outputs)
    if site.results < ports and not written.gives_dead_letters:
        return f"[{'*' if written.gives_list else ''}{call}, pe.dead_letters(turn, {site.name!r}, {site.width})]"
    return f"{call}[0]" if written.gives_list and ports == 1 else call


@dataclass(frozen=True, slots=True)
class _Written:
    """How a call is written. `gives_list`: its value is a list, with a frame for each port that is not for dead letters
    or, with `gives_dead_letters`, for each port."""

    write: Callable[[Any, CallSite, Functions], str]
    gives_list: bool = False
    gives_dead_letters: bool = False


def _entry(operator: Source | Feedback, at: CallSite, functions: Functions) -> str:
    return f"turn.inputs.get({at.name!r})"


def _map(operator: Map, at: CallSite, functions: Functions) -> str:
    expr = operator.function.expr
    vector = functions.record(f"{at.var}_fields", expr, at.live, operator) if isinstance(expr, Record) else None
    return f"pe.map(turn, {at.name!r}, {at.inputs}, {vector}, {at.live})"


def _filter(operator: Filter, at: CallSite, functions: Functions) -> str:
    vector = functions.single(f"{at.var}_predicate", operator.function.expr, operator)
    return f"pe.filter(turn, {at.name!r}, {at.inputs}, {vector}, {at.live})"


def _flat_map(operator: FlatMap, at: CallSite, functions: Functions) -> str:
    return f"pe.flat_map(turn, {at.name!r}, {at.inputs}, {at.live})"


def _split(operator: Split, at: CallSite, functions: Functions) -> str:
    vector = functions.ports(f"{at.var}_ports", operator.function.expr, at.results, operator)
    return f"pe.split(turn, {at.name!r}, {at.inputs}, {vector}, {at.result_lives})"


def _random_split(operator: RandomSplit, at: CallSite, functions: Functions) -> str:
    return f"pe.random_split(turn, {at.name!r}, {at.inputs}, {at.result_lives})"


def _union(operator: Union, at: CallSite, functions: Functions) -> str:
    return f"pe.union({at.live}, {at.width}, {at.inputs})"


def _aggregate(operator: Aggregate, at: CallSite, functions: Functions) -> str:
    arguments = functions.arguments(f"{at.var}_arguments", operator, operator.window, operator.folds)
    fields = functions.record(f"{at.var}_fields", operator.fields, at.live, operator)
    return f"pe.aggregate(turn, {at.name!r}, {at.inputs}, {arguments}, {fields}, {at.live})"


def _join(operator: Join, at: CallSite, functions: Functions) -> str:
    return f"pe.join(turn, {at.name!r}, {at.inputs}, {at.live})"


def _map_batches(operator: MapBatches, at: CallSite, functions: Functions) -> str:
    return f"pe.map_batches(turn, {at.name!r}, {at.inputs}, {at.live})"


def _pace(operator: Pace, at: CallSite, functions: Functions) -> str:
    return f"pe.pace(turn, {at.name!r}, {at.inputs}, {at.live})"


def _event_time(operator: EventTime, at: CallSite, functions: Functions) -> str:
    return f"pe.event_time(turn, {at.name!r}, {at.inputs}, {at.result_lives})"


def _punctor(operator: Punctor, at: CallSite, functions: Functions) -> str:
    vector = functions.single(f"{at.var}_predicate", operator.function.expr, operator)
    return f"pe.punctor(turn, {at.name!r}, {at.inputs}, {vector}, {at.result_lives})"


def _process(operator: Process, at: CallSite, functions: Functions) -> str:
    if pane_folds(operator) is not None:
        config = operator.logic.config
        arguments = functions.arguments(f"{at.var}_arguments", operator, config.window, config.folds)
        fields = functions.record(f"{at.var}_fields", config.fields, at.live, operator)
        return f"pe.event_time_windows(turn, {at.name!r}, {at.lives}, {arguments}, {fields}, {at.inputs})"
    return f"pe.process(turn, {at.name!r}, {at.lives}, {at.inputs})"


CALLS: Mapping[type[Operator], _Written] = complete(
    {
        Source: _Written(_entry),
        Feedback: _Written(_entry),
        Map: _Written(_map),
        Filter: _Written(_filter),
        FlatMap: _Written(_flat_map),
        Split: _Written(_split, gives_list=True),
        RandomSplit: _Written(_random_split, gives_list=True),
        Union: _Written(_union),
        Aggregate: _Written(_aggregate),
        Join: _Written(_join),
        MapBatches: _Written(_map_batches),
        Pace: _Written(_pace),
        EventTime: _Written(_event_time, gives_list=True),
        Punctor: _Written(_punctor, gives_list=True),
        Process: _Written(_process, gives_list=True, gives_dead_letters=True),
    },
    OPERATORS.values(),
    "the calls of generated code",
    but=(Sink,),
)
