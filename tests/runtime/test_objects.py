"""Columns of Python values: on the wire, in state, in slices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thalweg as tw
from tests.values import BOXED, POINT, VALUES, values_of
from thalweg.ir.types import DECIMAL, INT, STR, AttributeType, list_of
from thalweg.ir.user_tuples import row_maker
from thalweg.runtime.columns import concat, from_values, take, to_list, window
from thalweg.runtime.frame import Frame, decode, encode
from thalweg.runtime.keys import keys_of
from thalweg.runtime.objects import from_stored, is_boxed, to_stored
from thalweg.runtime.state import Table
from thalweg.verify.compare import first_difference


@st.composite
def columns(draw: st.DrawFn) -> tuple[AttributeType, list[Any]]:
    kind = draw(st.sampled_from(BOXED))
    return kind, draw(st.lists(values_of(kind), max_size=12))


def same(a: list[Any], b: list[Any]) -> bool:
    return first_difference([(v,) for v in a], [(v,) for v in b]) is None


@given(columns())
def test_a_frame_carries_them_exactly(column: tuple[AttributeType, list[Any]]) -> None:
    kind, values = column
    first, last = from_values(range(len(values)), INT), from_values(["s"] * len(values), STR)
    frame = Frame(np.arange(len(values)), (3,), {"a": first, "v": from_values(values, kind), "z": last})
    again = decode(encode(frame))
    assert list(again.columns) == ["a", "v", "z"], "the order of attributes is that of the tuple type"
    assert same(to_list(again.columns["v"]), values)
    assert is_boxed(again.columns["v"])


@given(columns())
def test_stored_values_come_back(column: tuple[AttributeType, list[Any]]) -> None:
    kind, values = column
    assert same(to_list(from_stored(to_stored(from_values(values, kind)))), values)


def test_what_is_stored_tells_values_not_objects() -> None:
    """An epoch that is run again must write the same bytes, even if objects are shared differently."""
    shared, one, two = "ab" * 20, "".join(["ab"] * 20), "".join(["ab"] * 20)
    assert one is not two
    kind = list_of(STR)
    stored = [to_stored(from_values([value], kind)).to_pylist() for value in ((shared, shared), (one, two))]
    assert stored[0] == stored[1]


@given(columns(), st.data())
def test_slices_gathers_and_joins(column: tuple[AttributeType, list[Any]], data: st.DataObject) -> None:
    kind, values = column
    made = from_values(values, kind)
    assert same(to_list(window(made, 1, 3)), values[1:3])
    assert same(to_list(concat([made, from_values([], kind), made])), values * 2)
    if values:
        picks = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=6))
        assert same(to_list(take(made, np.array(picks, np.int64))), [values[i] for i in picks])


def test_tuples_of_one_length_are_not_a_matrix() -> None:
    column = from_values([(1.0, ("a",)), (2.0, ("b",))], POINT)
    assert isinstance(column, np.ndarray)
    assert column.shape == (2,)


@pytest.mark.parametrize("kind", BOXED, ids=str)
@pytest.mark.parametrize("ragged", [False, True])
def test_a_table_keeps_them(kind: AttributeType, ragged: bool) -> None:
    """By keys of the same type: what one epoch stores the next one finds, also lists of values."""
    values = VALUES[kind]
    keys = keys_of([from_values(values, kind)], len(values))
    count = len(keys.distinct)
    lengths = np.arange(count) if ragged else np.zeros(count, np.int64)
    held = [values[i % len(values)] for i in range(int(lengths.sum()) if ragged else count)]
    empty = {"v": from_values([], kind)}
    table = Table(empty, frozenset(["v"]) if ragged else frozenset())
    table.append(keys.distinct, np.zeros(count, np.int64), {"v": from_values(held, kind)}, lengths)
    again = Table(empty, table.ragged)
    again.decode(0, memoryview(table.encode(0)))
    assert again.find(keys.distinct).tolist() == list(range(count))
    assert same(to_list(again.columns["v"]), held)
    assert again.offsets.tolist() == table.offsets.tolist()


def test_equal_types_of_different_classes_keep_their_methods() -> None:
    """A module that is loaded again declares equal types: rows must have the methods of the new ones."""

    def declare(answer: int) -> type[tw.Tuple]:
        part = type("Part", (tw.Tuple,), {"__annotations__": {"x": int}, "answer": lambda part: answer})
        return type("Whole", (tw.Tuple,), {"__annotations__": {"part": part}, "answer": lambda whole: answer})

    old, new = declare(1), declare(2)
    assert old.tuple_type == new.tuple_type
    for declared, answer in ((old, 1), (new, 2), (old, 1)):
        row: Any = row_maker(declared.tuple_type, ["part"])((7,))
        assert (row.answer(), row.part.answer(), row.part.x) == (answer, answer, 7)


def test_equal_decimals_keep_their_own_digits() -> None:
    values = [Decimal("1.0"), Decimal("1.00")]
    again = decode(encode(Frame(np.arange(2), (), {"d": from_values(values, DECIMAL)})))
    assert [str(v) for v in to_list(again.columns["d"])] == ["1.0", "1.00"]
