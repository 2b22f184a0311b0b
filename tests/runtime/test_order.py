"""Merging frames by their order keys, and cutting them where no position is torn apart."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg.runtime.frame import Frame
from thalweg.runtime.merge_frames import merge, slices

KEY = st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 2))


def frame_of(keys: list[tuple[int, ...]], width: int = 2) -> Frame:
    """A sorted frame that remembers its keys."""
    keys = sorted(keys)
    subs = tuple(np.array([k[1 + i] for k in keys], np.int64) for i in range(width))
    return Frame(np.array([k[0] for k in keys], np.int64), subs, {"id": np.array([100 * k[0] + k[1] for k in keys])})


def keys_of(frame: Frame | None) -> list[tuple[int, ...]]:
    return [] if frame is None else [frame.order_key(i) for i in range(len(frame))]


@given(st.lists(st.lists(KEY, unique=True, max_size=8), max_size=5))
def test_merge_sorts_whatever_comes(parts: list[list[tuple[int, ...]]]) -> None:
    merged = merge([frame_of(keys) for keys in parts])
    expected = sorted(k for keys in parts for k in keys)
    assert keys_of(merged) == expected
    if merged is not None:
        assert np.asarray(merged.columns["id"]).tolist() == [100 * k[0] + k[1] for k in expected]


def test_merge_of_nothing() -> None:
    assert merge([]) is None
    assert merge([frame_of([])]) is None


def test_frames_of_different_widths_are_padded() -> None:
    """A tuple that took a shorter path sorts as if its missing sub-positions were 0."""
    short = Frame(np.array([1, 2]), (), {"id": np.array([10, 20])})
    long = Frame(np.array([1, 2]), (np.array([1, 1]),), {"id": np.array([11, 21])})
    merged = merge([long, short])
    assert merged is not None
    assert np.asarray(merged.columns["id"]).tolist() == [10, 11, 20, 21]


def test_one_constant_for_all_stays_one_constant() -> None:
    a = Frame(np.array([0, 2]), (3,), {})
    b = Frame(np.array([1]), (3,), {})
    merged = merge([a, b])
    assert merged is not None
    assert merged.subs == (3,)
    assert keys_of(merge([a, Frame(np.array([1]), (4,), {})])) == [(0, 3), (1, 4), (2, 3)]


@given(st.lists(st.lists(KEY, max_size=12), min_size=1, max_size=3), st.integers(1, 6))
def test_slices_keep_everything_in_order_and_positions_whole(parts: list[list[tuple[int, ...]]], rows: int) -> None:
    frames = [frame_of(keys) for keys in parts]
    cut = slices(frames, rows)
    for index, frame in enumerate(frames):
        assert [k for piece in cut for k in keys_of(piece[index])] == keys_of(frame)
    positions = [{k[0] for frame in piece for k in keys_of(frame)} for piece in cut]
    filled = [piece for piece in positions if piece]
    assert all(max(a) < min(b) for a, b in pairwise(filled)), "slices do not overlap"
    counts = Counter(k[0] for keys in parts for k in keys)
    heaviest = max(counts.values(), default=0)
    assert all(sum(len(frame) for frame in piece) < rows + max(heaviest, 1) for piece in cut)


def test_slices_have_the_wanted_size() -> None:
    frame = frame_of([(p, 0, 0) for p in range(10)])
    assert [len(piece[0]) for piece in slices([frame], 4)] == [4, 4, 2]
    assert [len(piece[0]) for piece in slices([frame], 10)] == [10]
