"""The reference's definition of every operator of the library: what the settings of a class of the library mean.

This is the only module of the reference that imports the classes of the library. It reads their settings and runs none
of their code. A class of `thalweg.library` without a definition fails here, at import, with its name.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from thalweg import library
from thalweg.errors import InternalError
from thalweg.ir.completeness import complete
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.logic import Logic, acts_at_end, acts_on_marks, fresh
from thalweg.ir.operator_resources import set_up
from thalweg.ir.operators import Process
from thalweg.ir.windows import Window
from thalweg.library.immediate_loop import Loop
from thalweg.library.kafka_records import Decode, RecordPart
from thalweg.library.multi_port import Barrier, EveryPunctuation, LeastTime, MergeOrdered, Pair
from thalweg.library.select import Code, Dedup
from thalweg.library.sorting import Skyline, SortBy, SortedBuffer, TopK
from thalweg.library.window_aggregate import ApplyConfig, WindowAggregate
from thalweg.library.window_join import Band, Lookup, TimedWindowJoin, WindowJoin
from thalweg.library.window_join import _Both as Both
from thalweg.library.windows import WINDOWS
from thalweg.library.windows.by_event_time import SlidingTime, TumblingTime
from thalweg.library.windows.by_punctuation import SlidingPunctuation, TumblingPunctuation
from thalweg.library.windows.running import Running
from thalweg.library.windows.sliding import Sliding, SlidingDelta
from thalweg.library.windows.tumbling import Tumbling, TumblingDelta
from thalweg.verify import reference_loop, reference_operators
from thalweg.verify.reference_order import in_band, in_order, undominated
from thalweg.verify.reference_windows import (
    EventTimeReference,
    Fields,
    Function,
    PunctuatedReference,
    ReferenceWindow,
    RunningReference,
    SlidingReference,
    TumblingReference,
)


def new_object(operator: Process) -> Logic:
    """The state of a key before its first tuple: an object of the user's class, or of the reference's definition."""
    template = operator.logic
    if not isinstance(template, LibraryLogic):
        made = fresh(template)
        made.resource = set_up(template, operator.name, operator.where)
        return made
    made = DEFINITIONS[type(template)](template)
    made.now, made._forgotten = None, False
    return made


def check_definition(operator: Process) -> None:
    """Raise if only the definition emits tuples at marks or at the end: order keys follow the class of the library.

    A class may act on marks only to drop tuples; its definition keeps them.
    """
    template = operator.logic
    if isinstance(template, LibraryLogic):
        made = DEFINITIONS[type(template)](template)
        if acts_at_end(made) != acts_at_end(template) or acts_on_marks(made) > acts_on_marks(template):
            raise InternalError(f"{type(template).__name__} and its definition act at different events")


def new_window(window: Window, gives: Fields | Function) -> ReferenceWindow:
    made = _WINDOWS[type(window)](window, gives)
    made.now = None
    return made


# Windows.

_WINDOWS: Mapping[type[Window], Callable[[Any, Fields | Function], ReferenceWindow]] = complete(
    {
        Running: lambda w, gives: RunningReference(gives),
        Tumbling: lambda w, gives: TumblingReference(gives, count=w.count),
        TumblingDelta: lambda w, gives: TumblingReference(gives, delta=w.delta, on=w.on),
        TumblingTime: lambda w, gives: EventTimeReference(gives, w.size, w.size, w.on, w.of_ends),
        TumblingPunctuation: lambda w, gives: PunctuatedReference(gives, 1),
        Sliding: lambda w, gives: SlidingReference(gives, w.slide, count=w.count),
        SlidingDelta: lambda w, gives: SlidingReference(gives, w.slide, delta=w.delta, on=w.on),
        SlidingTime: lambda w, gives: EventTimeReference(gives, w.size, w.step, w.on, w.of_ends),
        SlidingPunctuation: lambda w, gives: PunctuatedReference(gives, w.stretches),
    },
    WINDOWS,
    "windows of the reference",
)


def _windowed(logic: WindowAggregate) -> ReferenceWindow:
    config: Any = logic.config
    if isinstance(config, ApplyConfig):
        return new_window(config.window, Function(function_of(config.function)))
    return new_window(config.window, Fields(config.folds, config.fields))


# Functions of a window's tuples, and of pairs.


def function_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function as it is, the definition of one of the library."""
    found = FUNCTIONS.get(type(function))
    return function if found is None else found(function)


def _sort(by: SortBy) -> Callable[[list[Any]], list[Any]]:
    return lambda rows: in_order(rows, by.attributes, by.descending)


def _top_k(best: TopK) -> Callable[[list[Any]], list[Any]]:
    return lambda rows: in_order(rows, best.order.attributes, best.order.descending)[: best.k]


def _skyline(line: Skyline) -> Callable[[list[Any]], list[Any]]:
    most, least = ([name for name, found in line.signs if found == sign] for sign in (1, -1))
    return lambda rows: undominated(rows, most, least)


def _both(pair: Both) -> Callable[[Any, Any], bool]:
    first, second = map(function_of, pair.parts)
    return lambda left, right: bool(first(left, right) and second(left, right))


# Other operators.


def _dedup(logic: Dedup) -> Logic:
    return reference_operators.Dedup(logic.config.within, logic.config.time)


def _code(logic: Code) -> Logic:
    return reference_operators.StateFunction(logic.config.function, logic.state, logic.config.in_place)


def _sorted_buffer(logic: SortedBuffer) -> Logic:
    size, by = logic.config
    return reference_operators.SortedBuffer(size, by.attributes, by.descending)


def _join(logic: WindowJoin) -> Logic:
    config = logic.config
    mine, theirs = config.sides
    where = None if config.where is None else function_of(config.where)
    names, counts, times = (mine.names, theirs.names), (mine.count, theirs.count), (mine.time, theirs.time)
    return reference_operators.Join(names, counts, times, config.within, where)


def _lookup(logic: Lookup) -> Logic:
    config = logic.config
    return reference_operators.Lookup(config.on, config.table, config.names, config.missing)


def _loop(logic: Loop) -> Logic:
    loop = logic.config
    return reference_loop.Loop(
        loop.operators, loop.entries, loop.back, loop.back_type, loop.fed, loop.exits, new_object
    )


# The tables. What is in the library is found by listing its modules.


def _classes() -> Iterator[type]:
    """The classes that the modules of the library define."""
    for module in pkgutil.walk_packages(library.__path__, f"{library.__name__}."):
        found = vars(import_module(module.name)).values()
        yield from (cls for cls in found if isinstance(cls, type) and cls.__module__ == module.name)


def library_logic() -> list[type[LibraryLogic]]:
    """The classes of the library that an operator can run: those that take tuples."""
    return [cls for cls in _classes() if issubclass(cls, LibraryLogic) and cls.process is not Logic.process]


def library_functions() -> list[type]:
    """The classes of the library whose instances are called like users' functions."""
    return [cls for cls in _classes() if "__call__" in vars(cls)]


FUNCTIONS: Mapping[type, Callable[[Any], Callable[..., Any]]] = complete(
    {
        SortBy: _sort,
        TopK: _top_k,
        Skyline: _skyline,
        Band: lambda band: in_band(band.left, band.right, band.distance),
        Both: _both,
    },
    library_functions(),
    "functions of the reference",
    but=(Decode, RecordPart),  # they decode records, as readers do
)
DEFINITIONS: Mapping[type[LibraryLogic], Callable[[Any], Logic]] = complete(
    {
        **dict.fromkeys((cls for cls in library_logic() if issubclass(cls, WindowAggregate)), _windowed),
        Dedup: _dedup,
        Code: _code,
        SortedBuffer: _sorted_buffer,
        WindowJoin: _join,
        TimedWindowJoin: _join,
        Lookup: _lookup,
        MergeOrdered: lambda logic: reference_operators.MergeOrdered(logic.config.ports, logic.config.on),
        Barrier: lambda logic: reference_operators.Barrier(logic.config.names),
        Pair: lambda logic: reference_operators.Pair(logic.config.ports),
        LeastTime: lambda logic: reference_operators.LeastTime(
            {o: (x.idle, x.finds_splits) for o, x in logic.config.origins.items()}
        ),
        EveryPunctuation: lambda logic: reference_operators.EveryPunctuation(logic.config.ports),
        Loop: _loop,
    },
    library_logic(),
    "definitions of the reference",
)
