"""Cases: functions that are called by others, many times."""

# ruff: noqa: C417
# mypy: ignore-errors

from __future__ import annotations

import collections
import functools
import re

from tests.analysis.corpus.base import MANY, MAYBE, case


@case("flat_map", "stateless", MANY, "k v", "k")
def callback_of_map(t):
    out = []
    list(map(out.append, [{"k": t.k, "a": v} for v in t.v]))
    return out


@case("custom", "stateless", MANY, "k v", "k", by=())
def submits_in_a_key(t, state, submit):
    max(t.v, key=lambda v: submit({"k": t.k, "a": v}) or v, default=0)


@case("custom", "stateless", MANY, "k v", "k", by=())
def submits_in_the_key_of_sort(t, state, submit):
    rows = list(t.v)
    rows.sort(key=lambda v: submit({"k": t.k, "a": v}) or v)


@case("custom", "stateless", MANY, "k v", "k", by=())
def submits_in_a_map_that_nobody_uses(t, state, submit):
    map(lambda v: submit({"k": t.k, "a": v}), t.v)


@case("custom", "stateless", MANY, "k v", "k", by=())
def submits_until_a_sentinel(t, state, submit):
    left = list(t.v)

    def one():
        submit({"k": t.k, "a": 1})
        return left.pop()

    for _ in iter(one, 0):
        pass


@case("flat_map", "stateless", MANY, "k", "k")
def callback_of_a_pattern(t):
    out = []
    re.sub(r"\d", lambda m: out.append({"k": t.k, "a": 1}) or "", t.k)
    return out


@case("flat_map", "stateless", MANY, "k v", "k")
def callback_of_a_fold(t):
    out = []
    functools.reduce(lambda total, v: (out.append({"k": t.k, "a": v}), 0)[1], t.v, 0)
    return out


@case("flat_map", "stateless", MAYBE, "k", "k")
def lists_of_one_callback(t):
    first, second = map(lambda v: [{"k": t.k, "a": v}], (1, 2))
    first.clear()
    return second


@case("custom", "stateless", MAYBE, "k", "k", by=())
def submits_in_a_default_factory(t, state, submit):
    found = collections.defaultdict(lambda: submit({"k": t.k, "a": 1}))
    found["x"] = 1
    found[t.k]


class Collecting:
    def __init__(self, out, t):
        self.out, self.t, self.left = out, t, t.a

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        self.out.append({"k": self.t.k, "a": 1})


@case("flat_map", "stateless", MANY, "k a", "k")
def iterator_that_collects(t):
    out = []
    for _ in Collecting(out, t):
        pass
    return out
