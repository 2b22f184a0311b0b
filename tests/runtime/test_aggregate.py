"""Windows across frames: wherever the frames are cut, each key's folds are those of its own tuples in order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thalweg as tw
from tests.runtime.stores import DictStore
from thalweg import agg, window
from thalweg.ir.folds import fold_name
from thalweg.ir.operators import Aggregate
from thalweg.ir.types import FLOAT, STR
from thalweg.library.fold_spec import Monoid, same_value
from thalweg.library.folds import FOLDS
from thalweg.library.windows.tumbling import Tumbling
from thalweg.runtime.aggregate import KeyGroups, RowFolds, emitting, fold_frame, make_table
from thalweg.runtime.columns import Column, from_values, take, to_list
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.keys import keys_of
from thalweg.runtime.state import State, Table
from thalweg.verify.compare import first_difference

KINDS = ("count", "sum", "min", "max", "first", "last", "any")


class Point(tw.Tuple):
    k: str
    x: float


def operator(chosen: Any) -> Aggregate:
    stream = tw.App("windows").source(tw.files("nowhere"), Point)
    fields: dict[str, Any] = {k: agg.count() if k == "count" else getattr(agg, k)("x") for k in KINDS}
    stream.aggregate(chosen, name="folds", **fields)
    found = stream.app._operators[-1]
    assert isinstance(found, Aggregate)
    return found


def step(kind: str, older: Any, newer: Any) -> Any:
    match kind:
        case "sum":
            return older + newer
        case "min":
            return newer if newer < older else older
        case "max":
            return newer if newer > older else older
        case "first":
            return older
    return newer


def folded(kind: str, values: list[Any]) -> Any:
    result = values[0]
    for value in values[1:]:
        result = step(kind, result, value)
    return result


def by_definition(kind: str, seen: list[float], size: int | None) -> Any:
    """The fold at a key's newest tuple. A sliding window is the end of one block, folded backward, and the start of
    the next, folded forward; blocks begin at multiples of the window's size in the key's own count."""
    newest = len(seen) - 1
    oldest = 0 if size is None else max(0, newest - size + 1)
    if kind == "count":
        return newest - oldest + 1
    if size is None or oldest // size == newest // size:
        return folded(kind, seen[oldest:])
    border = newest // size * size
    suffix = seen[border - 1]
    for value in reversed(seen[oldest : border - 1]):
        suffix = step(kind, value, suffix)
    return step(kind, suffix, folded(kind, seen[border:]))


def expected_rows(rows: list[tuple[str, float]], size: int | None, slide: int) -> list[tuple[Any, ...]]:
    seen: dict[str, list[float]] = {}
    found = []
    for key, value in rows:
        values = seen.setdefault(key, [])
        values.append(value)
        if len(values) % slide == 0:
            found.append(tuple(by_definition(kind, values, size) for kind in KINDS))
    return found


def _table(state: State, op: Aggregate) -> Table:
    table = state.tables[op.name]
    assert isinstance(table, Table)
    return table


def by_kernel(op: Aggregate, state: State, rows: list[tuple[str, float]]) -> list[tuple[Any, ...]]:
    key = from_values([k for k, _ in rows], STR)
    groups = KeyGroups(op, state, keys_of([key], len(rows)), [key])
    x = from_values([v for _, v in rows], FLOAT)
    folds = fold_frame(op, groups, [None if f.argument is None else x for f in op.folds])
    shown = emitting(op, groups)
    picked = np.arange(len(rows)) if shown is None else shown
    in_order = picked[np.argsort(groups.order[picked], kind="stable")]
    columns: list[Column] = [take(folds[fold_name(i)], in_order) for i in range(len(op.folds))]
    return list(zip(*map(to_list, columns), strict=True))


def by_rows(op: Aggregate, state: State, rows: list[tuple[str, float]]) -> list[tuple[Any, ...]]:
    key = from_values([k for k, _ in rows], STR)
    keys = keys_of([key], len(rows))
    groups = KeyGroups(op, state, keys, [key])
    folds = RowFolds(op, groups)
    found = []
    for code, (k, value) in zip(keys.codes.tolist(), rows, strict=True):
        values = folds.step(code, Point(k, value))
        if folds.emits(code):
            found.append(tuple(values.values()))
    folds.store()
    return found


ROWS = st.lists(
    st.tuples(st.sampled_from("aaab"), st.sampled_from((0.1, 0.2, 0.3, 1e16, -1e16, 1 / 3, -7.5))),
    min_size=1,
    max_size=40,
)
WINDOWS = st.one_of(
    st.just(window.running(by="k")),
    st.builds(lambda count: window.tumbling(count=count, by="k"), st.integers(1, 7)),
    st.builds(
        lambda count, slide: window.sliding(count=count, slide=slide, by="k"), st.integers(1, 7), st.integers(1, 3)
    ),
)


@settings(deadline=None)
@given(ROWS, WINDOWS, st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.booleans()), min_size=1))
def test_frames_and_paths_do_not_matter(
    rows: list[tuple[str, float]], chosen: Any, cuts: list[tuple[int, bool, bool]]
) -> None:
    """Each frame takes the kernel or the row path, and its state is stored in between or not."""
    op = operator(chosen)
    store = DictStore()
    state = State(store, 3, {op.name: make_table(op, [STR])})
    found: list[tuple[Any, ...]] = []
    rest, number = rows, 0
    while rest:
        length, kernel, stored = cuts[number % len(cuts)]
        found += (by_kernel if kernel else by_rows)(op, state, rest[:length])
        if stored:
            state.commit()
            state = State(store, 3, {op.name: make_table(op, [STR])})
        rest, number = rest[length:], number + 1
    # Where a tumbling window closes, it is a sliding one that slides by its size.
    size = getattr(chosen, "count", None)
    slide: Any = size if isinstance(chosen, Tumbling) else getattr(chosen, "slide", 1)
    assert first_difference(expected_rows(rows, size, slide), found) is None


def test_an_empty_window_is_refused_at_the_language() -> None:
    with pytest.raises(tw.ThalwegError, match="bad count"):
        window.sliding(count=0)


def test_a_fallback_leaves_the_state_as_it_was() -> None:
    """The kernel finds a NaN in the last fold; the row path must start from the state before the frame."""
    op = operator(window.running(by="k"))
    state = State(DictStore(), 1, {op.name: make_table(op, [STR])})
    by_kernel(op, state, [("a", 1.0)])
    before = {n: to_list(c) for n, c in _table(state, op).columns.items()}
    with pytest.raises(Fallback):
        by_kernel(op, state, [("a", 2.0), ("a", float("nan"))])
    assert {n: to_list(c) for n, c in _table(state, op).columns.items()} == before


@pytest.mark.parametrize("size", [3, 300])
def test_a_step_of_the_row_path_costs_the_same_whatever_the_window(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0

    def least(older: Any, newer: Any) -> Any:
        nonlocal steps
        steps += 1
        return min(older, newer)

    monkeypatch.setitem(FOLDS, "min", replace(FOLDS["min"], scalar=Monoid(same_value, least, same_value)))
    op = operator(window.sliding(count=size, by="k"))
    state = State(DictStore(), 1, {op.name: make_table(op, [STR])})
    for _ in range(2):
        by_rows(op, state, [("a", float(n)) for n in range(1000)])
    assert 0 < steps <= 3 * 2000 + size
