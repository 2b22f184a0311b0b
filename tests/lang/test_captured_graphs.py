"""A frozen function captures the same graph of objects as the function of the user, whatever they share."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, FunctionType
from typing import Any

import pytest

from thalweg.ir.frozen_code import Freezer
from thalweg.ir.sent_code import send_code_of

send_code_of(__name__)


class Plain:
    x: Any


class Slotted:
    __slots__ = ("a", "b")
    a: Any
    b: Any


def capturing(one: Any, other: Any, default: Any, named: Any) -> Any:
    def function(given: Any = default, *, more: Any = named) -> list[Any]:
        return [one, other, given, more]

    return function


def made(kind: str, some: Callable[[], Any], functions: list[Any]) -> Any:
    match kind:
        case "list":
            return [some(), some()]
        case "dict":
            return {"a": some(), "b": some()}
        case "tuple":
            return (some(), some())
        case "object":
            plain = Plain()
            plain.x = some()
            return plain
        case "slots":
            slotted = Slotted()
            slotted.a, slotted.b = some(), some()
            return slotted
        case "method":
            return [some()].append
        case "partial":
            return functools.partial(functions[-1], some())
    functions.append(capturing(some(), some(), some(), some()))
    return functions[-1]


KINDS = ("list", "dict", "tuple", "object", "slots", "method", "partial", "function")


def drawn(seed: int) -> Any:
    """A function that captures a random graph, which may have cycles."""
    rng = random.Random(seed)
    nodes: list[Any] = [1, "text", None]

    def some() -> Any:
        return rng.choice(nodes)

    functions = [capturing(*(some() for _ in range(4)))]
    for _ in range(rng.randint(3, 14)):
        nodes.append(made(rng.choice(KINDS), some, functions))  # noqa: PERF401 - later nodes refer to earlier ones
    for node in nodes:
        if isinstance(node, list) and rng.random() < 0.5:
            node.append(some())
    return capturing(*(some() for _ in range(4)))


def shape(root: Any) -> list[str]:
    """The graph as a text, in which a part that was seen before is shown by its number."""
    seen: dict[int, int] = {}
    text: list[str] = []
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, int | str | None):
            text.append(repr(value))
        elif id(value) in seen:
            text.append(f"#{seen[id(value)]}")
        else:
            if not isinstance(value, BuiltinMethodType):  # made anew by each access
                seen[id(value)] = len(seen)
            parts = list(inside(value))
            text.append(f"{type(value).__name__} {len(parts)}")
            waiting += parts
    return text


def inside(value: Any) -> Iterator[Any]:
    match value:
        case list() | tuple():
            yield from value
        case dict():
            yield from value.values()
        case FunctionType():
            yield from (cell.cell_contents for cell in value.__closure__ or ())
            yield from value.__defaults__ or ()
            yield from (value.__kwdefaults__ or {}).values()
        case functools.partial():
            yield from (value.func, *value.args)
        case BuiltinMethodType():
            yield value.__self__
        case _:
            yield from (value.a, value.b) if type(value).__name__ == Slotted.__name__ else vars(value).values()


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_a_frozen_function_captures_an_equal_graph(first: int) -> None:
    for seed in range(first, first + 100):
        function = drawn(seed)
        assert shape(Freezer().freeze(function)) == shape(function), seed
