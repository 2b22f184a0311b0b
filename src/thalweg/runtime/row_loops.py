"""Generated row loops: a user function over the tuples of a frame, with local variables and without a dict per tuple.

A loop is generated for the attributes that the function may read and the type that it returns: the tuple is built and
the result unpacked inline. Types are checked for a run of tuples together, and value by value only if one differs.
A loop ends at the first tuple that fails.
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

from thalweg.ir.types import BOOL, FLOAT, INT, STR, AttributeType, TupleType, conform
from thalweg.ir.user_tracebacks import run_generated
from thalweg.ir.user_tuples import row_maker, unpack
from thalweg.ir.values import reviver
from thalweg.runtime.columns import DTYPES, Coded, Column, from_values, texts
from thalweg.runtime.frame import Frame

Loop = Callable[..., None]

_RUN = 1024  # tuples whose results are checked together: few enough to stay in the cache
_EXACT: dict[AttributeType, type] = {INT: int, FLOAT: float, STR: str, BOOL: bool}
_STRUCT: dict[AttributeType, str] = {INT: "q", FLOAT: "d", BOOL: "?"}


class LoopResult(NamedTuple):
    """The results of a loop, the number of tuples that it processed, and the error that ended it."""

    made: Any
    rows: int
    error: Exception | None


Classes = tuple[type | None, ...]


def _classes(tuple_type: TupleType) -> Classes:
    return tuple(tuple_type.classes())


def map_rows(function: Callable[[Any], Any], frame: Frame, input_type: TupleType, output: TupleType) -> LoopResult:
    """The results of a map, column by column."""
    loop = _map_loop(input_type, _classes(input_type), tuple(frame.columns), output, _classes(output))
    width = len(output.attributes)
    made: list[list[Any]] = [[] for _ in output.attributes]
    done, error = 0, None
    for results, raised in _runs(loop, function, frame):
        lists = [results[i::width] for i in range(width)]
        columns, count, wrong = _exact(lists, output, len(lists[0]) if lists else len(results))
        for all_of_it, column in zip(made, columns, strict=True):
            all_of_it.append(column)
        done += count
        error = wrong or raised
        if error is not None:
            break
    columns_of = [_joined(runs, kind) for runs, (_, kind) in zip(made, output.attributes, strict=True)]
    return LoopResult(dict(zip(output.names, columns_of, strict=True)), done, error)


def filter_rows(function: Callable[[Any], Any], frame: Frame, input_type: TupleType) -> LoopResult:
    """The result of a predicate for each tuple."""
    loop = _filter_loop(input_type, _classes(input_type), tuple(frame.columns))
    truths: list[bool] = []
    for results, raised in _runs(loop, function, frame):
        truths += results
        if raised is not None:
            return LoopResult(truths, len(truths), raised)
    return LoopResult(truths, len(truths), None)


def _runs(loop: Loop, function: Callable[[Any], Any], frame: Frame) -> Iterator[tuple[list[Any], Exception | None]]:
    """The loop's results, a run of tuples at a time; the last run with the error that ended the loop, if any."""
    columns = [texts(c) if isinstance(c, Coded) else c for c in frame.columns.values()]
    for start in range(0, len(frame), _RUN):
        stop = min(start + _RUN, len(frame))
        lists = [column[start:stop].tolist() for column in columns]
        items: Iterator[Any] = zip(*lists, strict=True) if lists else repeat((), stop - start)
        results: list[Any] = []
        try:
            loop(function, items, results)
        except Exception as error:  # any error of a user function is attributed to its tuple
            yield results, error
            return
        yield results, None


def _exact(lists: list[list[Any]], output: TupleType, rows: int) -> tuple[list[Any], int, Exception | None]:
    """The results by column, in stored form, up to the first tuple that does not conform."""
    try:
        return [_as_they_are(v, kind) for v, (_, kind) in zip(lists, output.attributes, strict=True)], rows, None
    except (TypeError, struct.error, UnicodeEncodeError):
        conformed: list[list[Any]] = [[] for _ in lists]
        for index in range(rows):
            try:
                row = [conform(v[index], k, n) for (n, k), v in zip(output.attributes, lists, strict=True)]
            except Exception as error:
                return (
                    [_as_they_are(v, kind) for v, (_, kind) in zip(conformed, output.attributes, strict=True)],
                    index,
                    error,
                )
            for column, value in zip(conformed, row, strict=True):
                column.append(value)
        return _exact(conformed, output, rows)


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
