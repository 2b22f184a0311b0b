"""The attribute types that an operator can compare, sum or take the distance of; other types are rejected."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from decimal import Decimal

from thalweg.errors import GraphError, Where, described
from thalweg.ir.type_groups import ORDERED
from thalweg.ir.types import DATE, DATETIME, DECIMAL, FLOAT, INT, AttributeType, TupleType

# The types that the difference of two values can be compared with.
_DISTANCES: Mapping[AttributeType, tuple[type, ...]] = {
    INT: (int, float),
    FLOAT: (int, float),
    DECIMAL: (int, float, Decimal),
    DATETIME: (dt.timedelta,),
    DATE: (dt.timedelta,),
}
_MIXED = (INT, FLOAT), (FLOAT, INT), (INT, DECIMAL), (DECIMAL, INT)

_MISSING = "remove missing values first: a .filter(), then a .map() to a type without None"


def words(items: Iterable[object]) -> str:
    """a, b or c."""
    *most, last = map(str, items)
    return f"{', '.join(most)} or {last}" if most else last


def missing_hint(kind: AttributeType) -> str | None:
    return _MISSING if kind.optional else None


def check_ordered(word: str, tuple_type: TupleType, attributes: Iterable[str], where: Where) -> None:
    """Reject attributes whose values have no order."""
    for attribute in attributes:
        if (kind := tuple_type.kind(attribute)) not in ORDERED:
            raise GraphError(
                f"{word}: {attribute} has no order",
                where=where,
                expected=words(ORDERED),
                found=str(kind),
                hint=missing_hint(kind),
            )


def check_distance(word: str, attribute: str, kind: AttributeType, distance: object, where: Where) -> None:
    """Reject an attribute whose values have no distance, and a distance in a different unit."""
    if kind not in _DISTANCES:
        raise GraphError(
            f"{word} in {attribute}, whose values have no distance",
            where=where,
            expected=words(_DISTANCES),
            found=str(kind),
            hint=missing_hint(kind),
        )
    if type(distance) not in _DISTANCES[kind]:
        raise GraphError(
            f"{word} in a different unit than {attribute}",
            where=where,
            expected=f"{words(t.__name__ for t in _DISTANCES[kind])}, because {attribute} is {kind}",
            found=described(distance),
        )


def check_subtracted(word: str, left: AttributeType, right: AttributeType, where: Where) -> None:
    """Reject two attributes that cannot be subtracted from each other."""
    if left != right and (left, right) not in _MIXED:
        expected = words((left, *(second for first, second in _MIXED if first == left)))
        raise GraphError(f"{word} between {left} and {right}", where=where, expected=expected, found=str(right))
