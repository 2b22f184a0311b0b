"""State tables: what goes into a bucket comes out of it, and only dirty buckets are written."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from tests.runtime.stores import DictStore
from thalweg.errors import CheckpointError
from thalweg.ir.types import BOOL, FLOAT, INT, STR
from thalweg.runtime.columns import Column, from_values, to_list
from thalweg.runtime.keys import buckets_of, keys_of
from thalweg.runtime.state import State, Table

EMPTY: dict[str, Column] = {
    "i": from_values([], INT),
    "x": from_values([], FLOAT),
    "s": from_values([], STR),
    "b": from_values([], BOOL),
}
NAMES = ["a", "b", "c", "d", "e", "f", ""]


def make_state(store: DictStore, buckets: int = 4) -> State:
    lists: dict[str, Column] = {"v": from_values([], FLOAT), "t": from_values([], STR)}
    return State(store, buckets, {"plain": Table(EMPTY), "lists": Table(lists, frozenset(lists))})


def fill(state: State, names: list[str]) -> None:
    keys = keys_of([from_values(names, STR)], len(names))
    table, _, buckets = state.rows("plain", keys, writes=True)
    n = len(keys.distinct)
    columns: dict[str, Column] = {
        "i": from_values(range(n), INT),
        "x": from_values([-0.0] * n, FLOAT),
        "s": from_values([f"text {k}" for k in keys.distinct.to_pylist()], STR),
        "b": from_values([True] * n, BOOL),
    }
    table.append(keys.distinct, buckets, columns, np.zeros(n, np.int64))
    table, _, buckets = state.rows("lists", keys, writes=True)
    lengths = np.arange(n) % 3
    total = int(lengths.sum())
    lists: dict[str, Column] = {
        "v": from_values([float(i) for i in range(total)], FLOAT),
        "t": from_values([f"t{i}" for i in range(total)], STR),
    }
    table.append(keys.distinct, buckets, lists, lengths)


def plain_rows(state: State, names: list[str]) -> list[tuple[object, ...]]:
    keys = keys_of([from_values(names, STR)], len(names))
    table, rows, _ = state.rows("plain", keys, writes=False)
    columns = [to_list(c) for c in table.columns.values()]
    return [tuple(c[row] for c in columns) for row in rows[keys.codes].tolist()]


def list_rows(state: State, names: list[str]) -> list[tuple[list[object], ...]]:
    keys = keys_of([from_values(names, STR)], len(names))
    table, rows, _ = state.rows("lists", keys, writes=False)
    flat = [to_list(c) for c in table.columns.values()]
    bounds = [(int(table.offsets[r]), int(table.offsets[r + 1])) for r in rows[keys.codes].tolist()]
    return [tuple(f[a:b] for f in flat) for a, b in bounds]


def test_buckets_round_trip() -> None:
    store = DictStore()
    first = make_state(store)
    fill(first, NAMES)
    first.commit()
    again = make_state(store)
    assert plain_rows(again, NAMES[::-1]) == plain_rows(first, NAMES[::-1])
    assert list_rows(again, NAMES) == list_rows(first, NAMES)
    assert str(plain_rows(again, ["a"])[0][1]) == "-0.0"


def test_only_dirty_buckets_are_written_and_only_touched_ones_read() -> None:
    store = DictStore()
    state = make_state(store)
    fill(state, NAMES)
    state.commit()
    store.written, store.read = [], []
    state = make_state(store)
    here = int(buckets_of(pa.array(["a"]), 4)[0])
    there = next(n for n in NAMES if buckets_of(pa.array([n]), 4)[0] != here)
    plain_rows(state, [there])  # read, not written
    state.rows("lists", keys_of([from_values(["a"], STR)], 1), writes=True)
    state.commit()
    assert store.written == [here]
    assert sorted(store.read) == sorted({here, int(buckets_of(pa.array([there]), 4)[0])})
    state.commit()
    assert store.written == [here], "a committed bucket is clean"


def test_unknown_keys_have_no_row() -> None:
    state = make_state(DictStore())
    _, rows, _ = state.rows("plain", keys_of([from_values(["x"], STR)], 1), writes=False)
    assert rows.tolist() == [-1]


def test_lists_grow_and_shrink_in_place() -> None:
    state = make_state(DictStore())
    fill(state, NAMES)
    table = state.tables["lists"]
    assert isinstance(table, Table)
    before = list_rows(state, NAMES)
    row = int(table.find(pa.array(["c"]))[0])
    new: dict[str, Column] = {"v": from_values([9.0, 8.0, 7.0], FLOAT), "t": from_values(["p", "q", "r"], STR)}
    table.update_lists(np.array([row]), new, np.array([3]))
    after = list_rows(state, NAMES)
    changed = NAMES.index("c")
    assert after[changed] == ([9.0, 8.0, 7.0], ["p", "q", "r"])
    assert after[:changed] + after[changed + 1 :] == before[:changed] + before[changed + 1 :]
    none: dict[str, Column] = {"v": from_values([], FLOAT), "t": from_values([], STR)}
    table.update_lists(np.array([row]), none, np.array([0]))
    assert list_rows(state, ["c"]) == [([], [])]


def test_a_bucket_keeps_no_strings_of_the_past() -> None:
    """A stored dictionary would hold every value that ever stood in the column."""
    store = DictStore()
    state = make_state(store, buckets=1)
    fill(state, NAMES)
    table = state.tables["plain"]
    assert isinstance(table, Table)
    for turn in range(3):
        old: dict[str, Column] = {"s": from_values([f"old value {turn}"] * len(NAMES), STR)}
        table.update(np.arange(len(NAMES)), old)
    state.commit()
    assert b"old value 1" not in store.data[0]
    assert b"old value 2" in store.data[0]


def test_a_state_of_a_different_version_is_refused() -> None:
    store = DictStore()
    header = json.dumps({"version": 99, "operators": []}).encode()
    store.data = {b: len(header).to_bytes(4, "little") + header for b in range(4)}
    with pytest.raises(CheckpointError, match="a different version"):
        plain_rows(make_state(store), ["a"])
