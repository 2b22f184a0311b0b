"""Cases: aliases through Python's own functions."""

# mypy: ignore-errors

from __future__ import annotations

import collections
import itertools
import json
import logging
import operator

from tests.analysis.corpus.base import ONE, case

GROUPS = collections.defaultdict(list)
SEEN: list[int] = []
TOTALS: dict[str, int] = {}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def alias_from_keys(t):
    dict.fromkeys(("a",), SEEN)["a"].append(1)
    return {"k": t.k, "a": 1}


BUFFER = bytearray(4)


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="memoryview")
def writes_through_a_view(t):
    memoryview(BUFFER)[0] = 1
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k v", "k", "mutates reads_mutable", why="the global SEEN")
def first_value_of_accumulate(t):
    for total in itertools.accumulate(t.v, lambda total, v: total, initial=SEEN):
        total.append(1)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def fill_value_of_zip_longest(t):
    for _, other in itertools.zip_longest([1], [], fillvalue=SEEN):
        other.append(1)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def copy_of_a_defaultdict(t):
    collections.defaultdict(lambda: SEEN).copy()["x"].append(1)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def iterator_that_is_filled_later(t):
    numbers = None

    def take():
        return next(numbers)

    numbers = iter([SEEN])
    take().append(1)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k v", "k", "mutates reads_mutable", why="writes TOTALS['x']")
def global_as_the_target_of_a_comprehension(t):
    [0 for TOTALS["x"] in t.v]
    return {"k": t.k, "a": TOTALS["x"]}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global GROUPS")
def defaultdict_read_by_a_template(t):
    return {"k": t.k, "a": len("{x}".format_map(GROUPS))}


TEMPLATE, DOTTED = "%(x)s", "{x.tick}"


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="GROUPS")
def defaultdict_read_by_percent(t):
    return {"k": t.k, "a": len(TEMPLATE % GROUPS)}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global GROUPS")
def defaultdict_read_by_operator(t):
    return {"k": t.k, "a": len(operator.getitem(GROUPS, t.k))}


class Ticking:
    def __init__(self):
        self.ticks = 0

    @property
    def tick(self):
        self.ticks += 1
        return self.ticks

    def write(self, text):
        self.ticks += 1


TICKING = Ticking()


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="writes self.ticks")
def asks_for_a_property(t):
    return {"k": t.k, "a": 1 if hasattr(TICKING, "tick") else 0}


@case("map", "unknown", ONE, "k", "k", "reads_mutable unknown_call", why="looks into objects")
def template_that_reads_a_property(t):
    return {"k": t.k, "a": len(DOTTED.format(x=TICKING))}


@case("map", "unknown", ONE, "k", "k", "io unknown_call", why="prints to a file")
def prints_into_an_object(t):
    print("x", file=TICKING)
    return {"k": t.k, "a": 1}


class CountingLogger(logging.Logger):
    lines = 0

    def info(self, *args):
        self.lines += 1


COUNTING_LOGGER = CountingLogger("counting")


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="COUNTING_LOGGER")
def logger_with_code_of_its_own(t):
    COUNTING_LOGGER.info("x")
    return {"k": t.k, "a": 1}


class Encoder(json.JSONEncoder):
    def encode(self, o):
        SEEN.append(1)
        return ""


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="runs code of a class")
def encoder_of_its_own(t):
    return {"k": t.k, "a": len(json.dumps(t.a, cls=Encoder))}


class SteppingAside:
    def __iter__(self):
        return iter((1, 2))

    def __next__(self):
        SEEN.append(1)

    def __reversed__(self):
        SEEN.append(1)
        return iter((2, 1))


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="SEEN")
def next_of_a_local_object(t):
    next(SteppingAside())
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="reversed()")
def reversed_of_a_local_object(t):
    return {"k": t.k, "a": len(list(reversed(SteppingAside())))}


@case("flat_map", "stateless", (0, 2), "k", "k")
def iterator_used_up_by_a_set(t):
    numbers = iter((1, 2))
    {5}.isdisjoint(numbers)
    return [{"k": t.k, "a": n} for n in numbers]
