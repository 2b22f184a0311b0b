"""Cases: fields that may be missing."""

# mypy: ignore-errors

from __future__ import annotations

from tests.analysis.corpus.base import ONE, case

SEEN: list[int] = []


@case("map", "stateless", ONE, "k a", "a")
def overrides_perhaps(t):
    more = {}
    if t.a > 0:
        more["k"] = t.k
    return {"k": "none", "a": t.a, **more}


@case("map", "stateless", ONE, "k a", "a")
def updates_perhaps(t):
    more = {}
    if t.a > 0:
        more["k"] = t.k
    made = {"k": "none", "a": t.a}
    made.update(more)
    return made


@case("map", "stateless", ONE, "k a", "a")
def names_an_argument_perhaps(t):
    def build(a, k="none"):
        return {"k": k, "a": a}

    more = {}
    if t.a > 0:
        more["k"] = t.k
    return build(t.a, **more)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def flag_that_is_perhaps_off(t):
    more = {}
    if t.a > 0:
        more["on"] = False
    if {"on": True, **more}["on"]:
        SEEN.append(1)
    return {"k": t.k, "a": 1}


@case("map", "stateless", ONE, "k a")
def updates_with_pairs(t):
    made = {"k": t.k, "a": t.a}
    made.update((("k", "x"),))
    return made
