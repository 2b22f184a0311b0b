"""Cases: what cannot be known."""

# mypy: ignore-errors

from __future__ import annotations

import random
from typing import Any

from tests.analysis.corpus.base import ONE, case

SEEN: list[int] = []


@case("map", "unknown", ONE, None, (), "unknown_call", why="exec()")
def executes_text(t):
    names = {"t": t}
    exec("a = t.a", names)
    return {"k": "", "a": names["a"]}


@case("map", "unknown", ONE, None, (), "unknown_call", why="getattr() with a name that is not constant")
def getattr_of_a_variable(t):
    return {"k": "", "a": getattr(t, "a" if len("x") else "b".lower())}


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="recursively, or too deeply")
def recursion(t):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    return {"k": t.k, "a": factorial(t.a)}


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="source is not available")
def code_without_source(t):
    return {"k": t.k, "a": NO_SOURCE(t.a)}


_made: dict[str, Any] = {}
exec("def no_source(n):\n    return n + 1", _made)
NO_SOURCE = _made["no_source"]


@case("map", "unknown", ONE, "k", "k", "unknown_call io", why="other calls left outside")
def opens_a_file(t):
    with open(t.k) as file:
        return {"k": t.k, "a": len(file.read())}


@case("map", "unknown", ONE, "k", "k", "unknown_call randomness", why="the generator that all calls share")
def shared_randomness(t):
    return {"k": t.k, "a": random.randint(1, 6)}


class Dynamic:
    def __getattr__(self, name):
        SEEN.append(1)
        return 3


DYNAMIC = Dynamic()


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="defines its own attribute lookup")
def dynamic_attributes(t):
    return {"k": t.k, "a": DYNAMIC.anything}


class Lying:
    def __len__(self):
        SEEN.append(1)
        return len(SEEN)


LYING = Lying()


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="len runs code")
def hidden_in_an_operator(t):
    return {"k": t.k, "a": len(LYING)}


MODEL = None


@case("map", "unknown", ONE, "k x", "k", "unknown_call", why="not defined yet")
def filled_in_later(t):
    return {"k": t.k, "a": MODEL.predict(t.x)}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="imports")
def imports_while_it_runs(t):
    import not_installed_anywhere

    return {"k": t.k, "a": not_installed_anywhere.count(t.k)}
