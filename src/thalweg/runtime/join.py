"""The keyed join with the last tuple of the other side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from thalweg.ir.operators import Join
from thalweg.ir.types import AttributeType
from thalweg.runtime.columns import Array, Column, concat, from_values, take
from thalweg.runtime.frame import Frame, join_frames
from thalweg.runtime.keys import Keys, keys_of
from thalweg.runtime.left_folds import group_order
from thalweg.runtime.merge_frames import sort_order
from thalweg.runtime.state import State, Table


def make_table(attributes: Sequence[tuple[str, AttributeType]]) -> Table:
    """One row per key: the last tuple of port 1, without its key."""
    return Table({name: from_values([], kind) for name, kind in attributes})


def join_frame(operator: Join, state: State, left: Frame | None, right: Frame | None) -> Frame | None:
    """Each left tuple with the newest right tuple of its key that is older than it."""
    sides = [f for f in (left, right) if f is not None]
    if not sides:
        return None
    keys = _common_keys(operator, sides)
    table, rows, buckets = state.rows(operator.name, keys, writes=right is not None)
    stored = len(table)
    n_left = 0 if left is None else len(left)
    order, starts, lengths = _by_key_then_order(keys, sides)
    newest = _newest_right(order, starts, lengths, n_left)
    # One numbering for all candidates: rows of the table, then rows of the right frame.
    from_state = np.repeat(rows, lengths)
    partner = np.where(newest >= 0, stored + newest - n_left, from_state)
    candidates = {n: concat([c, right.columns[n]]) if right is not None else c for n, c in table.columns.items()}
    joined = None if left is None else _matched(left, order, partner, candidates)
    if right is not None:
        _store_newest(table, keys, rows, buckets, newest[starts + lengths - 1] - n_left, right)
    return joined


def _common_keys(operator: Join, sides: Sequence[Frame]) -> Keys:
    columns: list[Column] = [concat([f.columns[name] for f in sides]) for name in operator.on]
    return keys_of(columns, sum(len(f) for f in sides))


def _by_key_then_order(keys: Keys, sides: Sequence[Frame]) -> tuple[Array, Array, Array]:
    """All rows (left ones first in the numbering) sorted by key and then by order key."""
    if len(sides) == 1:
        return group_order(keys.codes, len(keys.distinct))
    width = max(len(f.subs) for f in sides)
    both = join_frames([f.padded(width).with_columns({}) for f in sides])
    merged = sort_order(both)
    order, starts, lengths = group_order(keys.codes[merged], len(keys.distinct))
    return merged[order], starts, lengths


def _newest_right(order: Array, starts: Array, lengths: Array, n_left: int) -> Array:
    """For each sorted row the last right row at or before it within its key, or -1."""
    place = np.where(order >= n_left, np.arange(len(order)), -1)
    place = np.maximum.accumulate(place)
    inside = place >= np.repeat(starts, lengths)
    return np.where(inside, order[np.maximum(place, 0)], -1)


def _matched(left: Frame, order: Array, partner: Array, candidates: dict[str, Column]) -> Frame | None:
    partner_of_row = np.full(len(left), -1, np.int64)
    is_left = order < len(left)
    partner_of_row[order[is_left]] = partner[is_left]
    kept = np.flatnonzero(partner_of_row >= 0)
    if not len(kept):
        return None
    found = left.take(kept)
    return found.with_columns(
        {**found.columns, **{name: take(c, partner_of_row[kept]) for name, c in candidates.items()}}
    )


def _store_newest(table: Table, keys: Keys, rows: Array, buckets: Array, newest: Array, right: Frame) -> None:
    """`newest` is the right row to keep per key; negative where no right tuple arrived."""
    came = newest >= 0
    known, new = np.flatnonzero(came & (rows >= 0)), np.flatnonzero(came & (rows < 0))
    table.update(rows[known], {n: take(right.columns[n], newest[known]) for n in table.columns})
    if len(new):
        columns = {n: take(right.columns[n], newest[new]) for n in table.columns}
        table.append(keys.distinct.take(pa.array(new)), buckets[new], columns, np.zeros(len(new), np.int64))
