"""Texts of tuples that are made column by column are those of `repr`."""

from __future__ import annotations

import random
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import thalweg as tw
from thalweg.ir.types import FLOAT, TupleType
from thalweg.ir.values import carried
from thalweg.runtime.columns import from_values, to_list
from thalweg.runtime.frame import Frame
from thalweg.runtime.row_functions import rows
from thalweg.runtime.shown_tuples import shown_tuples


class Part(tw.Tuple):
    n: int


class All(tw.Tuple):
    i: int
    x: float
    s: str
    b: bool
    when: datetime
    day: date
    amount: Decimal
    maybe: int | None
    many: list[str]
    part: Part


class Own(tw.Tuple):
    i: int

    def __repr__(self) -> str:
        return f"<{self.i}>"


VALUES = [
    (-(2**63), 1.0, "a'b", True, datetime(2024, 1, 2, 3), date(2024, 1, 2), Decimal("1.50"), None, ["a"], Part(1)),
    (2**63 - 1, 0.1, "ü\n\x00", False, datetime(1, 1, 1), date(1, 1, 1), Decimal("-0"), 3, [], Part(2)),
    (0, float("nan"), "", False, datetime(9999, 1, 1), date(1, 1, 1), Decimal("1E+3"), 0, ['"', "'"], Part(2)),
]


def frame_of(tuple_type: TupleType, values: list[tuple[Any, ...]]) -> Frame:
    columns = zip(*([carried(v) for v in row] for row in values), strict=True)
    made = {n: from_values(list(c), kind) for (n, kind), c in zip(tuple_type.attributes, columns, strict=True)}
    return Frame(np.arange(len(values)), (), made)


@pytest.mark.parametrize("declared", [All.tuple_type, TupleType("Row", All.tuple_type.attributes)])
def test_every_type(declared: TupleType) -> None:
    frame = frame_of(declared, VALUES)
    expected = [repr(row) for row in rows(frame, declared)]
    assert to_list(shown_tuples(frame, declared)) == expected
    if declared.python:
        assert expected[:2] == [repr(All(*values)) for values in VALUES[:2]]


def test_a_text_of_the_users_class() -> None:
    assert to_list(shown_tuples(frame_of(Own.tuple_type, [(1,), (2,)]), Own.tuple_type)) == ["<1>", "<2>"]


def test_some_attributes() -> None:
    frame = frame_of(All.tuple_type, VALUES).select(["s", "i"])
    assert to_list(shown_tuples(frame, All.tuple_type)) == [repr(row) for row in rows(frame, All.tuple_type)]


def test_floats() -> None:
    seeded = random.Random(5)
    bits = [struct.unpack("d", seeded.randbytes(8))[0] for _ in range(5_000)]
    sizes = [seeded.uniform(-1, 1) * 10.0 ** seeded.randint(-7, 18) for _ in range(20_000)]
    short = [seeded.randint(-(10**6), 10**6) / 10 ** seeded.randint(0, 9) for _ in range(20_000)]
    edges = [
        v for e in (1e-4, 1e-5, 1e9, 1e10, 1e15, 1e16, 0.0) for v in (e, -e, np.nextafter(e, 0), np.nextafter(e, 1e20))
    ]
    values = [float(v) for v in (*bits, *sizes, *short, *edges)]
    declared = TupleType("F", (("x", FLOAT),))
    assert to_list(shown_tuples(frame_of(declared, [(v,) for v in values]), declared)) == [
        f"F(x={v!r})" for v in values
    ]
