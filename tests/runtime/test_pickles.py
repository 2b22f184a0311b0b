"""Stored state finds the types of its tuples again, also of those inside other tuples."""

from __future__ import annotations

import pytest

import thalweg as tw
from thalweg.errors import CheckpointError
from thalweg.ir.state_pickles import dumps
from thalweg.runtime.pickles import loads, type_table


class Place(tw.Tuple):
    x: float


class Trip(tw.Tuple):
    start: Place
    stops: list[Place | None] | None


class Diary(tw.Tuple):
    trips: list[Trip]


def test_tuples_inside_tuples() -> None:
    diary = Diary([Trip(Place(1.0), [Place(2.0), None]), Trip(Place(3.0), None)])
    found = loads(dumps({"kept": [diary]}), type_table([Diary.tuple_type]), {})
    assert found == {"kept": [diary]}


def test_a_type_that_is_not_there() -> None:
    with pytest.raises(CheckpointError, match=r"tuples of the type Place\(x: float\)"):
        loads(dumps(Place(1.0)), type_table([]), {})
