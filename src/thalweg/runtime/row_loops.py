"""Generated row loops: a user function over the tuples of a frame, with local variables and without a dict per tuple.

A loop is generated for the attributes that the function may read and the type that it returns: the tuple is built and
the result unpacked inline. Types are checked for a run of tuples together, and value by value only where one differs.
A tuple that fails is left out, and the loop goes on with the next one, unless the first failure stops the operator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import repeat
from operator import attrgetter, countOf, itemgetter
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType, TupleType, conform
from thalweg.ir.user_tracebacks import run_generated
from thalweg.ir.user_tuples import row_maker, unpack
from thalweg.ir.values import reviver
from thalweg.runtime.columns import DTYPES, Array, Coded, Column, from_values, texts
from thalweg.runtime.frame import Frame

Loop = Callable[..., None]

_RUN = 1024  # tuples whose results are checked together: few enough to stay in the cache
_EXACT: dict[AttributeType, type] = {INT: int, FLOAT: float, STR: str, BOOL: bool}
_STRUCT: dict[AttributeType, str] = {INT: "q", FLOAT: "d", BOOL: "?"}


# Takes the index of a tuple on which the function failed; returns whether to continue with the next one.
OnFailure = Callable[[int, BaseException], bool]


class LoopResult(NamedTuple):
    """The results of a loop, and the rows that they come from."""

    made: Any
    at: Array


Classes = tuple[type | None, ...]


def _classes(tuple_type: TupleType) -> Classes:
    return tuple(tuple_type.classes())


def map_rows(
    function: Callable[[Any], Any],
    frame: Frame,
    input_type: TupleType,
    output: TupleType,
    failed: OnFailure,
    *,
    stops: bool = False,
) -> LoopResult:
    """The results of a map, column by column. `stops`: no tuple after one that raises is processed."""
    loop = _map_loop(input_type, _classes(input_type), tuple(frame.columns), output, _classes(output))
    width = len(output.attributes)
    made: list[list[Any]] = [[] for _ in output.attributes]
    kept: list[Array] = [np.arange(0)]
    for start, results, raised, last in _runs(loop, function, frame, width or 1, None if stops else failed):
        lists = [results[i::width] for i in range(width)]
        at = _others(start, len(results) // (width or 1), raised)
        columns, wrong = _exact(lists, output)
        failures = [(int(at[i]), error) for i, error in wrong] + ([] if last is None else [last])
        at = np.delete(at, [i for i, _ in wrong]) if wrong else at
        end = next((index for index, error in failures if not failed(index, error)), None)
        if end is not None:
            at = at[at < end]
            columns = [column[: len(at)] for column in columns]
        for all_of_it, column in zip(made, columns, strict=True):
            all_of_it.append(column)
        kept.append(at)
        if end is not None:
            break
    columns_of = [_joined(runs, kind) for runs, (_, kind) in zip(made, output.attributes, strict=True)]
    return LoopResult(dict(zip(output.names, columns_of, strict=True)), np.concatenate(kept))


def filter_rows(
    function: Callable[[Any], Any], frame: Frame, input_type: TupleType, failed: OnFailure, *, stops: bool = False
) -> LoopResult:
    """The result of a predicate for each tuple."""
    loop = _filter_loop(input_type, _classes(input_type), tuple(frame.columns))
    truths: list[bool] = []
    kept: list[Array] = [np.arange(0)]
    for start, results, raised, last in _runs(loop, function, frame, 1, None if stops else failed):
        truths += results
        kept.append(_others(start, len(results), raised))
        if last is not None:
            failed(*last)
    return LoopResult(truths, np.concatenate(kept))


_Failure = tuple[int, BaseException]  # the index of a tuple, and what was raised


def _runs(
    loop: Loop, function: Callable[[Any], Any], frame: Frame, width: int, failed: OnFailure | None
) -> Iterator[tuple[int, list[Any], list[int], _Failure | None]]:
    """The loop's results, `width` of them for a tuple, a run of tuples at a time, with the tuples that raised. Without
    `failed` the first that raises is the last that is processed."""
    columns = [texts(c) if isinstance(c, Coded) else c for c in frame.columns.values()]
    last: _Failure | None = None
    for start in range(0, len(frame), _RUN):
        stop = min(start + _RUN, len(frame))
        lists = [column[start:stop].tolist() for column in columns]
        items: Iterator[Any] = zip(*lists, strict=True) if lists else repeat((), stop - start)
        results: list[Any] = []
        raised: list[int] = []
        while True:
            try:
                loop(function, items, results)
                break
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # any error of a user function is attributed to its tuple
                index = start + len(results) // width + len(raised)
                if failed is None:
                    last = index, error
                    break
                raised.append(index)
                failed(index, error)  # not kept: many errors, each with its traceback, are a burden to Python's memory
        yield start, results, raised, last
        if last is not None:
            return


def _others(start: int, results: int, raised: list[int]) -> Array:
    """The rows of a run that have results."""
    rows = np.arange(start, start + results + len(raised))
    return np.delete(rows, [index - start for index in raised]) if raised else rows


def _exact(lists: list[list[Any]], output: TupleType) -> tuple[list[Any], list[_Failure]]:
    """The results by column, in stored form, of the tuples that conform; and the others, by index in the lists."""
    try:
        return [_as_they_are(v, kind) for v, (_, kind) in zip(lists, output.attributes, strict=True)], []
    except (TypeError, struct.error, UnicodeEncodeError):
        wrong = _conform_rows(lists, output)
    for index, _ in reversed(wrong):
        for values in lists:
            del values[index]
    return [_as_they_are(v, kind) for v, (_, kind) in zip(lists, output.attributes, strict=True)], wrong


def _conform_rows(lists: list[list[Any]], output: TupleType) -> list[_Failure]:
    """Convert the values that are not of exactly their type; returns the tuples for which this fails."""
    wrong: list[_Failure] = []
    odd = {i for values, (_, kind) in zip(lists, output.attributes, strict=True) for i in _inexact(values, kind)}
    for index in sorted(odd):
        try:
            row = [conform(v[index], k, n) for (n, k), v in zip(output.attributes, lists, strict=True)]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            wrong.append((index, error))
        else:
            for values, value in zip(lists, row, strict=True):
                values[index] = value
    return wrong


def _inexact(values: list[Any], kind: AttributeType) -> list[int]:
    exact = _EXACT.get(kind)
    if exact is None:  # conformed when it was unpacked
        return []
    if kind is INT:
        return [i for i, v in enumerate(values) if type(v) is not int or not INT64_MIN <= v <= INT64_MAX]
    if kind is STR:
        return [i for i, v in enumerate(values) if type(v) is not str or not v.isascii()]
    return [i for i, v in enumerate(values) if type(v) is not exact]


def _as_they_are(values: list[Any], kind: AttributeType) -> list[Any] | Column:
    """The values of one attribute, if all are of its type; numbers as an array."""
    exact = _EXACT.get(kind)
    if exact is None:  # conformed when it was unpacked
        return values
    if countOf(map(type, values), exact) != len(values):
        raise TypeError
    if kind is STR:
        "".join(values).encode()  # a lone surrogate has no encoding
        return values
    # struct converts numbers in half the time of numpy, and rejects an int of more than 64 bits.
    code = _STRUCT[kind]
    return np.frombuffer(struct.pack(f"{len(values)}{code}", *values), DTYPES[kind])


def _joined(runs: list[Any], kind: AttributeType) -> Column:
    if runs and isinstance(runs[0], np.ndarray):
        return np.concatenate(runs)
    return from_values([value for run in runs for value in run], kind)


def _make(input_type: TupleType, names: tuple[str, ...]) -> list[str]:
    composite = [input_type.kind(name).composite for name in names]
    items = ", ".join(f"i{i}" for i in range(len(names)))
    return [
        f"for {items}{',' * (len(names) == 1)} in items:" if names else "for _ in items:",
        "    t = Row()",
        *(f"    t.{name} = {f'r{i}(i{i})' if composite[i] else f'i{i}'}" for i, name in enumerate(names)),
    ]


def _row(input_type: TupleType, names: tuple[str, ...]) -> dict[str, Any]:
    """The names that the loop needs to build a tuple: its class, without a call in Python, because the loop sets the
    attributes; and for lists and nested tuples the functions that convert carried values to those that users see."""
    made = row_maker(input_type, names)
    revivers = {f"r{i}": reviver(input_type.kind(name)) for i, name in enumerate(names)}
    return revivers | {"Row": _bare(made)}


def _bare(made: type) -> type:
    return type(made.__name__, (made,), {"__slots__": (), "__new__": object.__new__, "__init__": object.__init__})


@lru_cache(maxsize=256)
def _filter_loop(input_type: TupleType, given: Classes, names: tuple[str, ...]) -> Loop:
    lines = ["add = results.append", *_make(input_type, names), "    add(True if function(t) else False)"]
    return _compiled(lines, _row(input_type, names))


@lru_cache(maxsize=256)
def _map_loop(input_type: TupleType, given: Classes, names: tuple[str, ...], output: TupleType, made: Classes) -> Loop:
    """`given`, `made`: the user's classes. They are not part of a tuple type's equality, so they are arguments here.

    The values of a result are read immediately: the function may reuse the same dict for the next tuple. All values go
    into one list, tuple by tuple.
    """
    by_name, by_attribute = "get(r)", "get_attributes(r)"
    if len(output.names) == 1:
        by_name, by_attribute = f"(r[{output.names[0]!r}],)", f"(r.{output.names[0]},)"
    if not output.names or any(kind not in _EXACT for _, kind in output.attributes):
        by_name = by_attribute = "parts(r)"  # mutable values are copied immediately
    lines = [
        *_make(input_type, names),
        "    r = function(t)",
        f"    if type(r) is dict and len(r) == {len(output.names)}:",
        "        try:",
        f"            v = {by_name}",
        "        except KeyError:",
        "            v = parts(r)",
        "    elif type(r) is Made or type(r) is Row:",
        "        try:",
        f"            v = {by_attribute}",
        "        except AttributeError:",
        "            v = parts(r)",
        "    else:",
        "        v = parts(r)",
        "    add(v)" if output.names else "    results.append(v)",
    ]
    known: dict[str, Any] = _row(input_type, names) | {"Made": output.python}
    known["parts"] = lambda result: unpack(result, output)
    if len(output.names) > 1:
        known |= {"get": itemgetter(*output.names), "get_attributes": attrgetter(*output.names)}
    return _compiled(["add = results.extend", *lines], known)


def _compiled(lines: list[str], names: dict[str, Any]) -> Loop:
    source = "\n    ".join(["def loop(function, items, results):", *lines])
    loop: Loop = run_generated(source, f"row loop {crc32(source.encode()):08x}", names)["loop"]
    return loop
