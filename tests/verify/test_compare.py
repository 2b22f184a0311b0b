"""The comparison that every promise rests on must itself see every bit."""

from __future__ import annotations

import struct

import pytest

from thalweg.verify.compare import first_difference

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", (0xFFF8000000000123).to_bytes(8, "little"))[0]


@pytest.mark.parametrize("row", [(1, 0.5, "a", True), (NAN,), (-0.0,), (), ("é",), (float("inf"), -(2**63))])
def test_the_same(row: tuple[object, ...]) -> None:
    assert first_difference([row, row], [row, row]) is None


def test_all_nans_are_one() -> None:
    assert first_difference([(NAN,)], [(OTHER_NAN,)]) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.0, -0.0), (1, 1.0), (1, True), (0.1 + 0.2, 0.3), ("é", "e\u0301"), (NAN, 0.0), ("1", 1), (None, 0)],
)
def test_different_values(a: object, b: object) -> None:
    text = first_difference([(7, "x"), (7, a)], [(7, "x"), (7, b)])
    assert text is not None
    assert text.startswith(f"row 1, attribute 1: expected {a!r}, found {b!r}")


def test_order_counts() -> None:
    assert first_difference([(1,), (2,)], [(2,), (1,)]) == "row 0, attribute 0: expected 1, found 2 (in (1,) and (2,))"


def test_missing_and_additional_rows() -> None:
    assert first_difference([(1,), (2,)], [(1,)]) == "row 1: expected (2,), found the end after 1 rows"
    assert first_difference([(1,)], [(1,), (2,)]) == "row 1: expected the end after 1 rows, found (2,)"
    assert first_difference([], []) is None
    assert first_difference([(1, 2)], [(1,)]) == "row 0: expected 2 attributes (1, 2), found 1 (1,)"
