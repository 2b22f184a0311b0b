"""Frames on the wire: what is decoded is what was encoded, order columns included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from thalweg.ir.types import BOOL, FLOAT, INT, STR
from thalweg.runtime.columns import Coded, compact, concat, from_arrow, from_values, take, to_list
from thalweg.runtime.frame import Frame, decode, encode
from thalweg.verify.compare import first_difference

ROW = st.tuples(
    st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(st.characters(exclude_categories=["Cs"])), st.booleans()
)


def frame_of(rows: list[tuple[Any, ...]], subs: tuple[Any, ...] = ()) -> Frame:
    values = list(zip(*rows, strict=True)) or [()] * 4
    columns = {n: from_values(v, k) for n, k, v in zip("ixsb", (INT, FLOAT, STR, BOOL), values, strict=True)}
    return Frame(np.arange(len(rows)), subs, columns)


def rows_of(frame: Frame) -> list[tuple[Any, ...]]:
    return [(*frame.order_key(i), *(to_list(c)[i] for c in frame.columns.values())) for i in range(len(frame))]


@given(st.lists(ROW, max_size=20), st.integers(0, 3))
def test_round_trip(rows: list[tuple[Any, ...]], width: int) -> None:
    subs = tuple(7 if i % 2 else np.arange(len(rows))[::-1].copy() for i in range(width))
    frame = frame_of(rows, subs)
    again = decode(encode(frame))
    assert first_difference(rows_of(frame), rows_of(again)) is None
    assert [isinstance(s, int) for s in again.subs] == [isinstance(s, int) for s in subs]


def test_a_frame_without_attributes() -> None:
    """Where nothing downstream reads an attribute, tuples are positions only."""
    again = decode(encode(Frame(np.array([3, 5]), (1,), {})))
    assert rows_of(again) == [(3, 1), (5, 1)]


def test_dictionary_values_that_no_row_uses_are_not_sent() -> None:
    column = Coded(np.array([1, 1], np.int32), pa.array(["secret", "sent"]))
    data = encode(Frame(np.array([0, 1]), (), {"s": column}))
    assert b"sent" in data
    assert b"secret" not in data


def test_where_keeps_the_same_frame_when_all_stay() -> None:
    frame = frame_of([(1, 1.0, "a", True)])
    assert frame.where(np.array([True])) is frame


def test_compact_keeps_the_strings() -> None:
    column = Coded(np.array([2, 0, 2], np.int32), pa.array(["a", "b", "c"]))
    assert compact(column).__class__ is Coded
    assert to_list(compact(column)) == ["c", "a", "c"]


def test_concat_of_different_dictionaries() -> None:
    joined = concat([from_values(["a", "b"], STR), from_values(["b", "", "c"], STR), from_values([], STR)])
    assert to_list(joined) == ["a", "b", "b", "", "c"]
    assert isinstance(joined, Coded)
    assert len(set(joined.values.to_pylist())) == len(joined.values), "values stay distinct"


def test_from_arrow_takes_chunks_slices_and_no_chunk_at_all() -> None:
    chunks = pa.chunked_array([pa.array(["a", "b"]), pa.array(["b", "c"])])
    assert to_list(from_arrow(chunks)) == ["a", "b", "b", "c"]
    assert to_list(from_arrow(chunks.slice(1, 2))) == ["b", "b"]
    assert to_list(from_arrow(pa.chunked_array([], pa.string()))) == []
    assert to_list(from_arrow(pa.chunked_array([], pa.int64()))) == []
    assert to_list(take(from_arrow(pa.array([True, False])), np.array([1]))) == [False]
