"""Operators are called what the user calls their streams."""

from __future__ import annotations

import pytest

import thalweg as tw
from tests.graphs import Tick, bargains
from thalweg.errors import GraphError


def names(app: tw.App) -> list[str]:
    return [o.name for o in app._operators]


def test_a_chain_is_named_after_its_variable() -> None:
    assert [o.name for o in bargains().operators] == [
        *("ticks", "trades", "quotes", "vwap", "bargains.join", "bargains.filter", "bargains", "out")
    ]


def test_without_a_variable_the_kind_is_the_name() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: t.volume > 1).sink(tw.collect())
    ticks.filter(lambda t: t.volume > 2).sink(tw.collect())
    assert names(app) == ["ticks", "filter", "sink", "filter_2", "sink_2"]


def test_a_variable_used_twice_is_numbered() -> None:
    app = tw.App("names")
    stream = app.source(tw.files("ticks"), Tick)
    stream = stream.filter(lambda t: t.volume > 1)
    stream = stream.filter(lambda t: t.volume > 2)
    stream.sink(tw.collect())
    assert names(app) == ["stream", "stream_2", "stream_3", "sink"]


def test_an_annotated_variable() -> None:
    app = tw.App("names")
    ticks: tw.Stream = app.source(tw.files("ticks"), Tick)
    assert ticks.ref.operator == "ticks"


def test_an_own_name_wins() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick, name="input/1")
    assert ticks.ref.operator == "input/1"


def test_two_operators_of_one_name_are_refused() -> None:
    app = tw.App("names")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.filter(lambda t: t.volume > 1, name="f")
    with pytest.raises(GraphError, match="two operators are called f") as error:
        ticks.filter(lambda t: t.volume > 1, name="f")
    assert "test_naming.py:" in str(error.value.found)


@pytest.mark.parametrize("name", ["", "two words", "a=b", "a#b", "a[0]", "tab\t", "nul\0", "\ud800"])
def test_names_that_the_text_form_could_not_hold(name: str) -> None:
    with pytest.raises(GraphError, match="bad application name"):
        tw.App(name)
    with pytest.raises(GraphError, match="bad operator name"):
        tw.App("names").source(tw.files("ticks"), Tick, name=name)
