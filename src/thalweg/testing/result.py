"""The tuples that sinks received, and their comparison with the tuples that a test expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from thalweg.errors import PlanError, did_you_mean
from thalweg.ir.graph import beside
from thalweg.ir.named_rows import NamedRow, row_class
from thalweg.ir.types import TupleType
from thalweg.lang.tuples import Tuple
from thalweg.verify.compare import same_bits

_SHOWN = 5


class Row(NamedRow):
    """A tuple that a sink received. It equals a tuple of its values, a dict, or a tw.Tuple with the same attributes."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, values_of(other, self.tuple_type)) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)


def values_of(row: object, tuple_type: TupleType) -> tuple[Any, ...] | None:
    """The values in the order of the type; None if the row cannot be of this type."""
    named = row._values() if isinstance(row, Tuple) else row
    if isinstance(named, Mapping):
        return tuple(named[n] for n in tuple_type.names) if named.keys() == set(tuple_type.names) else None
    return tuple(named) if isinstance(named, tuple) and len(named) == len(tuple_type.names) else None


class Result(dict[str, list[Row]]):
    """The tuples that each sink received, in order."""

    def __init__(self, rows: Mapping[str, list[Row]], counts: Sequence[Mapping[str, int]] | None = None) -> None:
        super().__init__(rows)
        self._counts = counts

    def __missing__(self, sink: str) -> list[Row]:
        if beside(sink) in self:
            return self[beside(sink)]
        raise PlanError(f"no sink {sink!r}", expected=", ".join(self) or "a sink", hint=did_you_mean(str(sink), self))

    def by_epoch(self, sink: str) -> list[list[Row]]:
        """The sink's tuples, a list for each epoch; the last list is for the end of the input."""
        if self._counts is None:
            raise PlanError("the reference's answer is not split by epoch", hint="use testing.run")
        name = sink if sink in self else beside(sink)
        bounds = [0, *accumulate(counts[name] for counts in self._counts)]
        return [self[sink][a:b] for a, b in pairwise(bounds)]


def assert_same(found: Sequence[Row], expected: Sequence[object]) -> None:
    """Raise an AssertionError that shows how the tuples differ. Order matters; floats are compared by their bits."""
    problem = difference(found, expected)
    if problem is not None:
        raise AssertionError(problem)


def difference(found: Sequence[Row], expected: Sequence[object]) -> str | None:
    """The first difference, the missing and the unexpected tuples, as text; None if there is no difference."""
    wanted = [_expected(row, found) for row in expected]
    index = _first_difference(found, wanted)
    if index is None:
        return None
    lines = [f"tuple {index} (counted from 0) differs; {len(wanted)} expected, {len(found)} found"]
    lines.append(f"  expected: {_line(wanted, index)}")
    lines.append(f"  found:    {_line(found, index)}")
    lines += _attributes(found, wanted, index)
    missing, extra = _left_over(wanted, found), _left_over(found, wanted)
    if not missing and not extra:
        lines.append("  all tuples are present, in a different order")
    lines += _list("missing", missing) + _list("not expected", extra)
    return "\n".join(lines)


def _expected(row: object, found: Sequence[Row]) -> tuple[Any, ...]:
    if isinstance(row, Row):
        return row
    tuple_type = found[0].tuple_type if found else row.tuple_type if isinstance(row, Tuple) else None
    values = row if tuple_type is None else values_of(row, tuple_type)
    if isinstance(values, Mapping):
        values = tuple(values.values())
    if not isinstance(values, tuple):
        shape = str(tuple_type) if tuple_type else "a tuple, a dict or a tw.Tuple"
        raise AssertionError(f"not a valid expected tuple: {row!r}\n  the sink's tuples are {shape}")
    return values if tuple_type is None else tuple.__new__(row_class(tuple_type, Row), values)


def _first_difference(found: Sequence[tuple[Any, ...]], wanted: Sequence[tuple[Any, ...]]) -> int | None:
    for index, (a, b) in enumerate(zip(found, wanted, strict=False)):
        if not all(map(same_bits, a, b)):
            return index
    return None if len(found) == len(wanted) else min(len(found), len(wanted))


def _attributes(found: Sequence[Row], wanted: Sequence[tuple[Any, ...]], index: int) -> list[str]:
    if index >= min(len(found), len(wanted)):
        return []
    pairs = zip(found[index].tuple_type.names, wanted[index], found[index], strict=True)
    return [f"  {name}: expected {a!r}, found {b!r}" for name, a, b in pairs if not same_bits(a, b)]


def _line(rows: Sequence[tuple[Any, ...]], index: int) -> str:
    return repr(rows[index]) if index < len(rows) else f"the end, after {len(rows)} tuples"


def _left_over(rows: Sequence[tuple[Any, ...]], others: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The rows that are missing from the others, each as many times as it is missing."""
    there = Counter(_key(row) for row in others)
    left: list[tuple[Any, ...]] = []
    for row in rows:
        there[_key(row)] -= 1
        if there[_key(row)] < 0:
            left.append(row)
    return left


def _key(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Bits as text: repr distinguishes 0.0 from -0.0 and 1 from 1.0 and True, and is the same for all NaNs."""
    return tuple(map(repr, row))


def _list(title: str, rows: list[tuple[Any, ...]]) -> list[str]:
    if not rows:
        return []
    more = [f"    … and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
    return [f"  {title}:", *(f"    {row!r}" for row in rows[:_SHOWN]), *more]
