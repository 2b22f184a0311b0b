"""Cases: user code that runs without a visible call."""

# mypy: ignore-errors
# ruff: noqa: B008, B032
# Without `from __future__ import annotations`: those of nested functions are evaluated.

import collections.abc
import contextlib
import decimal
import functools
import itertools
import logging
import time
import uuid

import thalweg as tw
from tests.analysis.corpus.base import ONE, case

TABLE = {"a": 1}
SEEN = []


@case("map", "unknown", ONE, "k a", "k a", "mutates", why="deletes TABLE[t.k]")
def deletes_a_list_of_targets(t):
    del [TABLE[t.k]]
    return {"k": t.k, "a": t.a}


class Recorder:
    def __init__(self, error):
        self.error = error

    def __enter__(self):
        SEEN.append(1)

    def __exit__(self, kind, error, trace):
        SEEN.append(2)


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def perhaps_suppresses(t):
    manager = contextlib.suppress if t.a else Recorder
    with manager(ValueError):
        len(t.k)
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k a", "k a")
def surely_suppresses(t):
    with contextlib.suppress(ValueError):
        len(t.k)
    return {"k": t.k, "a": t.a}


class NamedBySetup(tw.Operator):
    def setup(self):
        return uuid.uuid4().hex

    def process(self, t, port):
        self.submit({"k": self.resource, "a": t.a})


case("custom", "stateless", ONE, "a", "a", "randomness", by="k", why="uuid4")(NamedBySetup())


class StampedBySetup(tw.Operator):
    def setup(self):
        return time.time()

    def process(self, t, port):
        self.submit({"k": t.k, "a": int(self.resource)})


case("custom", "stateless", ONE, "k", "k", "time", by="k", why="time.time")(StampedBySetup())

IDS = itertools.count()


class CountedBySetup(tw.Operator):
    def setup(self):
        return next(IDS)

    def process(self, t, port):
        self.submit({"k": t.k, "a": self.resource})


case("custom", "unknown", ONE, "k", "k", "mutates", by="k", why="IDS")(CountedBySetup())


class OpenedBySetup(tw.Operator):
    """What it makes cannot be known, but it is made once."""

    def setup(self):
        return len(open("model").read())

    def process(self, t, port):
        self.submit({"k": t.k, "a": t.a})


case("custom", "stateless", ONE, "k a", "k a", by="k")(OpenedBySetup())


@functools.lru_cache
def shown(value):
    return str(value)


@case("map", "unknown", ONE, "a x", "a", "unknown_call", why="the cache of shown")
def cache_of_a_float(t):
    return {"k": shown(t.x), "a": t.a}


@case("map", "unknown", ONE, "k a", "a", "unknown_call", why="the cache of shown")
def cache_of_a_decimal(t):
    return {"k": shown(decimal.Decimal(t.k)), "a": t.a}


@case("map", "unknown", ONE, "a x", "a", "unknown_call", why="the cache of shown")
def cache_of_a_float_in_a_tuple(t):
    return {"k": shown((t.a, t.x)), "a": t.a}


@case("map", "stateless", ONE, "k a", "a")
def cache_of_texts_and_numbers(t):
    return {"k": shown((t.k, t.a, None)), "a": t.a}


class Counter(logging.Handler):
    def emit(self, record):
        SEEN.append(record)


def counted(record):
    SEEN.append(record)
    return True


class Formatter(logging.Formatter):
    def format(self, record):
        SEEN.append(record)
        return ""


HANDLED, FILTERED, FORMATTED, BEHIND = (
    logging.getLogger(f"corpus.{n}") for n in ("handled", "filtered", "formatted", "handled.behind")
)
HANDLED.addHandler(Counter())
FILTERED.addFilter(counted)
_formatting = logging.NullHandler()
_formatting.setFormatter(Formatter())
FORMATTED.addHandler(_formatting)
PLAIN_LOG = logging.getLogger("corpus.plain")
PLAIN_LOG.addHandler(logging.NullHandler())


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="Counter")
def logs_with_a_handler(t):
    HANDLED.info("x")
    return {"k": t.k, "a": t.a}


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="Counter")
def logs_with_a_handler_above(t):
    BEHIND.info("x")
    return {"k": t.k, "a": t.a}


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="counted")
def logs_with_a_filter(t):
    FILTERED.info("x")
    return {"k": t.k, "a": t.a}


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="Formatter")
def logs_with_a_formatter(t):
    FORMATTED.info("x")
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k a", "k a", "io")
def logs_plainly(t):
    PLAIN_LOG.info("x")
    return {"k": t.k, "a": t.a}


class Registry(collections.abc.Mapping):
    def __getitem__(self, key):
        SEEN.append(key)
        return 1

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


class Row(collections.abc.Sequence):
    def __getitem__(self, index):
        return 1

    def __len__(self):
        SEEN.append(1)
        return 1


REGISTRY, ROW = Registry(), Row()


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="Registry")
def matches_a_mapping(t):
    match REGISTRY:
        case {"x": _}:
            pass
    return {"k": t.k, "a": t.a}


@case("map", "unknown", ONE, "k a", "k a", "unknown_call", why="Row")
def matches_a_sequence(t):
    match ROW:
        case [_]:
            pass
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k a", "k", "reads_mutable")
def matches_a_dict(t):
    match TABLE:
        case {"x": found}:
            return {"k": t.k, "a": found}
    return {"k": t.k, "a": t.a + 1}


def tell(kind):
    SEEN.append(kind)
    return kind


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def annotates_a_parameter(t):
    def inner(x: tell(int)):
        return x

    return {"k": t.k, "a": inner(t.a)}


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def annotates_a_result(t):
    def inner(x) -> tell(int):
        return x

    return {"k": t.k, "a": inner(t.a)}


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def has_a_default(t):
    def inner(x, y=tell(1), *, z=tell(2)):
        return x

    return {"k": t.k, "a": inner(t.a)}


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def annotates_an_element(t):
    TABLE[tell(1)]: int
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k a", "k a")
def annotates_a_name(t):
    found: tell(int) = t.a  # never evaluated in a function
    return {"k": t.k, "a": found}
