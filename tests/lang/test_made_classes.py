"""The output type of a map whose function makes tuples of a class."""

from __future__ import annotations

from typing import Any

import pytest

import thalweg as tw
from thalweg.errors import GraphError


class Word(tw.Tuple):
    text: str
    rank: int


class Size(tw.Tuple):
    size: float

    def doubled(self) -> float:
        return self.size * 2


class Same(tw.Tuple):
    size: float


def words() -> tw.Stream:
    return tw.App("words").source(tw.iterable([Word("a", 1), Word("abc", 2)]), Word, name="words")


def sizes(function: Any) -> list[Any]:
    stream = words().map(function)
    stream.sink(tw.collect())
    return [tuple(row) for row in tw.run(stream.app, engine="local").tuples()]


def test_the_type_is_the_class_that_the_function_makes() -> None:
    assert words().map(lambda w: Size(len(w.text))).tuple_type.name == "Size"
    assert repr(sizes(lambda w: Size(len(w.text)))) == "[(1.0,), (3.0,)]"


def test_a_branch_that_returns_a_dict_has_the_type_of_the_class() -> None:
    assert repr(sizes(lambda w: Size(len(w.text)) if w.rank > 1 else {"size": w.rank})) == "[(1.0,), (3.0,)]"


def test_of_two_classes_the_type_is_that_of_the_attributes() -> None:
    stream = words().map(lambda w: Size(1.0) if w.rank > 1 else Same(2.0), name="both")
    assert str(stream.tuple_type) == "both(size: float)"


def test_the_methods_of_the_class_can_be_used_after_the_map() -> None:
    stream = words().map(lambda w: Size(len(w.text))).flat_map(lambda s: [Size(s.doubled())], Size)
    stream.filter(lambda s: isinstance(s, Size)).sink(tw.collect())
    assert tw.run(stream.app, engine="local").tuples() == [(2.0,), (6.0,)]


def test_a_value_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(GraphError, match="the map returns the wrong type for size") as caught:
        words().map(lambda w: Size(w.text))
    assert caught.value.expected == "float"
    assert caught.value.found == "str"
