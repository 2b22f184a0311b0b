"""Values of all attribute types, the nasty ones among them, for tests that must not forget one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import thalweg as tw
from thalweg.ir.types import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    DECIMAL,
    FLOAT,
    INT,
    STR,
    AttributeType,
    list_of,
    nested,
    optional,
)

BERLIN = ZoneInfo("Europe/Berlin")
EAST = timezone(timedelta(hours=14))
# The clock shows 02:30 twice: before and after the end of summer time.
TWICE, AGAIN = datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN), datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN)


class Point(tw.Tuple):
    x: float
    tags: list[str]

    def doubled(self) -> float:
        return self.x * 2


POINT = nested(Point.tuple_type)
NAN = float("nan")

VALUES: dict[AttributeType, list[Any]] = {
    INT: [0, 1, -(2**63), 2**63 - 1],
    FLOAT: [0.0, -0.0, 1.5, float("inf"), NAN],
    STR: ["", "a", "\0", "é", "e\u0301"],
    BOOL: [False, True],
    BYTES: [b"", b"\0", b"\0\0", b"a", b"\xff" * 9],
    DATETIME: [
        *(
            datetime.min,
            datetime.max,
            datetime(2024, 1, 1),
            datetime(2024, 1, 1, fold=1),
            datetime(2024, 1, 1, 0, 0, 1),
        ),
        *(datetime.min.replace(tzinfo=EAST), datetime.max.replace(tzinfo=BERLIN), datetime(2024, 1, 1, tzinfo=UTC)),
        *(datetime(2024, 1, 1, 1, tzinfo=BERLIN), datetime(2024, 1, 1, 14, tzinfo=EAST), TWICE, AGAIN),
        *(TWICE.astimezone(UTC), AGAIN.astimezone(UTC)),
    ],
    DATE: [date.min, date.max, date(2024, 2, 29), date(1970, 1, 1)],
    DECIMAL: [
        *map(Decimal, ("0", "-0", "0E+5", "1", "1.0", "1.00", "10", "1E+1", "-1.5", "1E-400", "1E+400", "NaN", "-NaN")),
        *map(Decimal, ("Infinity", "-Infinity", "12345678901234567890123456789012345678901234567890", "NaN7")),
    ],
    optional(INT): [None, 0, 1, 2**63 - 1],
    optional(STR): [None, "", "None"],
    optional(DATE): [None, date(2024, 2, 29)],
    list_of(optional(INT)): [(), (None,), (0,), (0, None), (0, 0)],
    list_of(list_of(STR)): [(), ((),), ((), ()), (("a",), ("a", "b")), (("a", "a", "b"),)],
    POINT: [(0.0, ()), (-0.0, ()), (NAN, ("a",)), (1.5, ("a", "b")), (1.5, ("ab",))],
    optional(POINT): [None, (0.0, ()), (1.5, ("", ""))],
    list_of(POINT): [(), ((0.0, ()),), ((0.0, ("a",)), (NAN, ()))],
}
BOXED = [kind for kind in VALUES if kind.boxed]

_SCALARS: dict[AttributeType, SearchStrategy[Any]] = {
    INT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(),
    STR: st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    BOOL: st.booleans(),
    BYTES: st.binary(max_size=9),
    DATETIME: st.datetimes(timezones=st.sampled_from([None, UTC, EAST, BERLIN]), allow_imaginary=True),
    DATE: st.dates(),
    DECIMAL: st.decimals(allow_nan=True, allow_infinity=True).filter(lambda d: not d.is_snan()),
}


def values_of(kind: AttributeType) -> SearchStrategy[Any]:
    """Carried values of a type, nasty ones often."""
    if kind.optional:
        return st.one_of(st.none(), values_of(kind.required))
    if kind.item is not None:
        return st.lists(values_of(kind.item), max_size=4).map(tuple)
    if kind.fields is not None:
        return st.tuples(*(values_of(k) for _, k in kind.fields.attributes))
    return st.one_of(st.sampled_from(VALUES[kind]), _SCALARS[kind])
