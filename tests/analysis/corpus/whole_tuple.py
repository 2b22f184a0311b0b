"""Cases: the tuple as a whole."""

# mypy: ignore-errors

from __future__ import annotations

from tests.analysis.corpus.base import ONE, In, case

BY_TUPLE: dict[In, int] = {}


@case("map", "stateless", ONE, None, (), "reads_mutable")
def tuple_as_a_key(t):
    return {"k": "x", "a": BY_TUPLE.get(t, 0)}


@case("map", "stateless", ONE, None, (), "reads_mutable")
def tuple_as_an_index(t):
    return {"k": "x", "a": BY_TUPLE[t]}


@case("map", "stateless", ONE, None)
def tuple_that_is_counted(t):
    return {"k": "x", "a": [1, 2].count(t)}


@case("map", "stateless", ONE, None)
def tuple_in_a_tuple(t):
    return {"k": "x", "a": 1, "inner": t}


@case("map", "stateless", ONE, "k a", "a")
def keys_of_a_dict_of_numbers(t):
    first, _ = {0: t.k, 1: t.a}
    return {"k": first, "a": t.a}
