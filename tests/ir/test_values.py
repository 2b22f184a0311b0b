"""Lists and nested tuples: carried as plain tuples, seen by user functions as lists and as their own classes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.values import POINT, VALUES, Point
from thalweg.ir.types import AttributeType, list_of, optional
from thalweg.ir.values import FrozenList, carried, reviver
from thalweg.verify.compare import same_bits


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_there_and_back(kind: AttributeType) -> None:
    revive = reviver(kind)
    for value in VALUES[kind]:
        seen = revive(value)
        assert same_bits(carried(seen), value)
        assert revive(seen) is seen, "what a user function has seen stays as it is"


def test_user_functions_see_their_classes() -> None:
    (seen,) = reviver(list_of(POINT))(((1.5, ("a",)),))
    assert type(seen) is Point
    assert seen.doubled() == 3.0
    assert seen.tags == ["a"]
    assert seen == Point(1.5, ["a"])
    assert repr(seen) == "Point(x=1.5, tags=['a'])"
    assert reviver(optional(POINT))(None) is None


CHANGES: list[Callable[[list[int]], Any]] = [
    lambda v: v.append(1),
    lambda v: v.extend([1]),
    lambda v: v.insert(0, 1),
    lambda v: v.pop(),
    lambda v: v.remove(1),
    lambda v: v.clear(),
    lambda v: v.sort(),
    lambda v: v.sort(reverse=True),
    lambda v: v.reverse(),
    lambda v: v.__setitem__(0, 1),
    lambda v: v.__delitem__(0),
    lambda v: v.__iadd__([1]),
    lambda v: v.__imul__(2),
    lambda v: v.__setitem__(slice(0, 1), []),
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_list_of_a_tuple_refuses_to_change(change: Callable[[list[int]], Any]) -> None:
    """Another consumer of the stream may hold the same list; in which order they run is the plan's business."""
    held = FrozenList([1, 2])
    with pytest.raises(TypeError, match=r"copy it with list\(…\)"):
        change(held)
    assert held == [1, 2]


def test_otherwise_it_is_a_list() -> None:
    held = FrozenList([2, 1])
    assert isinstance(held, list)
    assert held + held == [2, 1, 2, 1]
    assert sorted(held) == [1, 2]
    assert held[:1] == [2]
    mine = list(held)
    mine.append(3)
    assert held == [2, 1]
    assert str(held) == "[2, 1]"
    assert pickle.loads(pickle.dumps(held)) == held
    assert copy.deepcopy(held) == held
