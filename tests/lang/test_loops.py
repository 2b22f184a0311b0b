"""Immediate loops: what is said of an operator inside that fails."""

from __future__ import annotations

import json
from typing import Any

import pytest

import thalweg as tw
from thalweg import testing
from thalweg.errors import TupleError


class Text(tw.Tuple):
    text: str


def parse(t: Any) -> Text:
    return Text(json.loads(t.text))


def decode(t: Any) -> Text:
    return Text(t.text.encode().decode("ascii"))


def look_up(t: Any) -> Text:
    return Text({"a": "b"}[t.text])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (parse, "LoopError: inner: JSONDecodeError: Expecting value: line 1 column 1 (char 0)"),
        (decode, "LoopError: inner: UnicodeDecodeError: 'ascii' codec can't decode byte 0xc3 in position 0"),
        (look_up, "LoopError: inner: KeyError: 'é'"),
    ],
)
def test_an_error_is_reported_unchanged(function: Any, message: str) -> None:
    """Also one whose class wants more than a text to make another."""
    app = tw.App("loops")
    source = app.source(tw.files("texts"), Text, name="texts")
    loop = app.feedback(Text, immediate=True, name="loop")
    made = source.union(loop, name="both").map(function, Text, name="inner")
    made.filter(lambda t: t.text == "", name="none").feed(loop)
    made.sink(tw.collect(), name="out")
    with pytest.raises(TupleError) as caught:
        testing.run(app, {"texts": [Text("é")]})
    assert caught.value.message.startswith(message)
