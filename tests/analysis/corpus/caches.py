"""Cases: what a cache or setup made."""

# mypy: ignore-errors

from __future__ import annotations

import functools
import itertools

import thalweg as tw
from tests.analysis.corpus.base import ONE, case


@functools.lru_cache
def _cached_numbers():
    return itertools.count()


@case("map", "unknown", ONE, "k", "k", "mutates", why="takes from the cache of")
def iterator_of_a_cache(t):
    return {"k": t.k, "a": next(_cached_numbers())}


class NumberedBySetup(tw.Operator):
    def setup(self):
        return itertools.count()

    def process(self, t, port):
        self.submit({"k": t.k, "a": next(self.resource)})


case("custom", "unknown", ONE, "k", "k", "mutates", by=(), why="takes from the resource")(NumberedBySetup())
