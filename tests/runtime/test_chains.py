"""Filters inside of a chain: rows may stay until they cost or harm, but the rows that are left are always the same."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from thalweg.ir.types import STR
from thalweg.runtime.chains import narrow
from thalweg.runtime.columns import Coded, from_values, to_list

MASKS: dict[str, Any] = {
    "most": np.array([True, True, False, True, True, True]),
    "others": np.array([True, False, True, True, True, True]),
    "few": np.array([False, False, False, True, False, False]),
    "all": np.ones(6, np.bool_),
    "none": np.zeros(6, np.bool_),
    "true": True,
    "false": False,
}


@pytest.mark.parametrize("waits", list(itertools.product((True, False), repeat=2)))
@pytest.mark.parametrize(("first", "second"), list(itertools.product(MASKS, repeat=2)))
def test_two_filters(first: str, second: str, waits: tuple[bool, bool]) -> None:
    numbers, words = np.arange(10, 16), from_values(list("abcdef"), STR)
    masks = [np.broadcast_to(MASKS[name], 6) for name in (first, second)]
    wanted = np.flatnonzero(masks[0] & masks[1])
    before = {name: np.copy(mask) for name, mask in MASKS.items()}

    n, rows, late, a, s, one = narrow(MASKS[first], not waits[0], 6, None, None, numbers, words, 1)
    if n:
        mask = MASKS[second]
        left = mask if not isinstance(mask, np.ndarray) or rows is None else mask[rows]
        n, rows, late, a, s, one = narrow(left, not waits[1], n, rows, late, a, s, one)
    if n:
        n, rows, late, a, s, one = narrow(True, True, n, rows, late, a, s, one)
    found = np.arange(6) if rows is None else rows
    assert found.tolist() == wanted.tolist()
    assert n == len(wanted)
    assert late is None
    assert one == 1
    if n:
        assert isinstance(s, Coded)
        assert a.tolist() == (wanted + 10).tolist()
        assert to_list(s) == ["abcdef"[i] for i in wanted]
    assert all(np.array_equal(before[name], mask) for name, mask in MASKS.items()), "a mask may be an attribute"


def test_most_rows_wait() -> None:
    n, rows, late, column = narrow(MASKS["most"], False, 6, None, None, np.arange(6))
    assert (n, rows) == (6, None)
    assert late is not None
    assert len(column) == 6
