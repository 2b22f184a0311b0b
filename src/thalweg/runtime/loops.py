"""Generated row loops: a user's function over all tuples of a frame, with locals, and without a dict per tuple.

A loop is generated for the attributes that it reads and the type that it returns, so that a tuple is made, the result
taken apart and its types checked inline. It ends at the first tuple that fails.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType, TupleType, conform
from thalweg.ir.values import reviver
from thalweg.runtime.columns import from_values, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.rows import row_maker, unpack

Loop = Callable[..., tuple[list[Any], Exception | None]]


class Looped(NamedTuple):
    """What a loop made, of how many tuples, and the error that ended it."""

    made: Any
    rows: int
    error: Exception | None


# True for a value that is of its type as it is; everything else takes the long way, and maybe an error's.
_FITS: dict[AttributeType, str] = {
    INT: f"type({{0}}) is int and {INT64_MIN} <= {{0}} <= {INT64_MAX}",
    FLOAT: "type({0}) is float",
    STR: "type({0}) is str and ({0}.isascii() or {0}.encode())",  # a lone surrogate has no encoding
    BOOL: "type({0}) is bool",
}


Classes = tuple[type | None, ...]


def _classes(tuple_type: TupleType) -> Classes:
    return tuple(tuple_type.classes())


def map_rows(function: Callable[[Any], Any], frame: Frame, input_type: TupleType, output: TupleType) -> Looped:
    """The results of a map, column by column."""
    loop = _map_loop(input_type, _classes(input_type), tuple(frame.columns), output, _classes(output))
    results, error = loop(function, len(frame), *map(to_list, frame.columns.values()))
    done, *lists = results
    columns = {name: from_values(values, kind) for (name, kind), values in zip(output.attributes, lists, strict=True)}
    return Looped(columns, done, error)


def filter_rows(function: Callable[[Any], Any], frame: Frame, input_type: TupleType) -> Looped:
    """What a predicate says of each tuple."""
    loop = _filter_loop(input_type, _classes(input_type), tuple(frame.columns))
    truths, error = loop(function, len(frame), *map(to_list, frame.columns.values()))
    return Looped(truths, len(truths), error)


def _head(input_type: TupleType, names: tuple[str, ...]) -> tuple[str, str, list[str], dict[str, Any]]:
    """The loop's parameters, its `for`, how it makes the tuple, and what it needs for that."""
    columns = ", ".join(f"c{i}" for i in range(len(names)))
    items = ", ".join(f"i{i}" for i in range(len(names)))
    over = f"for {items} in zip({columns}):" if len(names) > 1 else f"for {items or '_'} in {columns or 'range(n)'}:"
    parameters = ", ".join(["function", "n", *(f"c{i}" for i in range(len(names)))])
    revivers = {f"r{i}": reviver(k) for i, n in enumerate(names) if (k := input_type.kind(n)).composite}
    taken = [f"r{i}(i{i})" if f"r{i}" in revivers else f"i{i}" for i in range(len(names))]
    make = ["t = new(Row)", *(f"t.{name} = {value}" for name, value in zip(names, taken, strict=True))]
    return parameters, over, make, {"Row": row_maker(input_type, names), **revivers}


@lru_cache(maxsize=256)
def _filter_loop(input_type: TupleType, given: Classes, names: tuple[str, ...]) -> Loop:
    parameters, over, make, known = _head(input_type, names)
    lines = [
        f"def loop({parameters}):",
        "    results = []",
        "    add = results.append",
        "    try:",
        f"        {over}",
        *(f"            {line}" for line in (*make, "add(True if function(t) else False)")),
        "    except Exception as error:",
        "        return results, error",
        "    return results, None",
    ]
    return _compiled(lines, known)


@lru_cache(maxsize=256)
def _map_loop(input_type: TupleType, given: Classes, names: tuple[str, ...], output: TupleType, made: Classes) -> Loop:
    """`given`, `made`: the user's classes. They are no part of a tuple type's equality, so they are told apart here."""
    parameters, over, make, known = _head(input_type, names)
    fields = list(enumerate(output.attributes))
    values = ", ".join(f"v{i}" for i, _ in fields)
    fits = " and ".join(_FITS[kind].format(f"v{i}") for i, (_, kind) in fields if kind in _FITS) or "True"
    checks = [f"if not ({fits}):", *(f"    v{i} = conform(v{i}, k{i}, {n!r})" for i, (n, k) in fields if k in _FITS)]
    body = [
        *make,
        "r = function(t)",
        f"if type(r) is dict and len(r) == {len(fields)}:",
        *_taken([f"v{i} = r[{name!r}]" for i, (name, _) in fields], "KeyError", values),
        "elif type(r) is Made or type(r) is Row:",
        *_taken([f"v{i} = r.{name}" for i, (name, _) in fields], "AttributeError", values),
        "else:",
        f"    {values}, = parts(r)",
        *checks,
        *(f"v{i} = conform(v{i}, k{i}, {name!r})" for i, (name, kind) in fields if kind not in _FITS),
        *(f"add{i}(v{i})" for i, _ in fields),
    ]
    if not fields:
        body = [*make, "parts(function(t))", "add0(None)"]
    numbers = [i for i, _ in fields] or [0]
    lines = [
        f"def loop({parameters}):",
        *(f"    l{i} = []\n    add{i} = l{i}.append" for i in numbers),
        "    error = None",
        "    try:",
        f"        {over}",
        *(f"            {line}" for line in body),
        "    except Exception as raised:",
        "        error = raised",
        f"    return [len(l0){''.join(f', l{i}' for i, _ in fields)}], error",
    ]
    known |= {f"k{i}": kind for i, (_, kind) in fields}
    known |= {"Made": output.python, "conform": conform}
    return _compiled(lines, known | {"parts": lambda result: unpack(result, output)})


def _taken(steps: list[str], error: str, values: str) -> list[str]:
    lines = ["try:", *(f"    {step}" for step in steps), f"except {error}:", f"    {values}, = parts(r)"]
    return [f"    {line}" for line in lines]


def _compiled(lines: list[str], names: dict[str, Any]) -> Loop:
    namespace = {"new": object.__new__, **names}
    exec(compile("\n".join(lines), "<thalweg row loop>", "exec"), namespace)
    loop: Loop = namespace["loop"]
    return loop
