"""Small functions and classes as users write them, with the facts that must be found of each.

`state` is "stateless", "unknown", "one" (one state for all tuples) or the key. Effects are all of them. A wrong
"unknown" is a weakness, a wrong "stateless" would be a bug.
"""

# ruff: noqa: B006, B012, C417, PERF402, RET504, RUF017, UP031, UP042
# mypy: ignore-errors

from __future__ import annotations

import collections
import contextlib
import copy
import datetime as dt
import enum
import functools
import heapq
import itertools
import json
import logging
import math
import operator
import os
import random
import re
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import thalweg as tw
from tests.analysis import corpus_helpers as helpers
from tests.analysis.corpus_helpers import apply_twice, double, fill, pieces, rate, register


class In(tw.Tuple):
    k: str
    a: int
    x: float
    v: list[int]
    n: int | None

    @property
    def twice(self) -> int:
        return self.a * 2

    def shout(self) -> str:
        return self.k.upper()


class Out(tw.Tuple):
    k: str
    a: int


@dataclass(frozen=True)
class Case:
    kind: str
    code: Any
    state: Any
    selectivity: Any
    reads: Any
    forwards: Any
    effects: frozenset[str]
    why: str
    by: Any

    @property
    def name(self) -> str:
        return getattr(self.code, "__name__", type(self.code).__name__)


CASES: list[Case] = []
ALL = ("k", "a", "x", "v", "n")


def case(kind, state, selectivity=None, reads=None, forwards=(), effects=(), why="", by=None, make=None):
    def add(code):
        made = make(code) if make is not None else code
        names = set(forwards.split()) if isinstance(forwards, str) else set(forwards)
        read = None if reads is None else set(reads.split()) if isinstance(reads, str) else set(reads)
        wanted = frozenset(effects.split() if isinstance(effects, str) else effects)
        CASES.append(Case(kind, made, state, selectivity, read, names, wanted, why, by))
        return code

    return add


ONE, MAYBE, MANY = (1, 1), (0, 1), (0, None)

# ---------------------------------------------------------------- nothing hidden


@case("map", "stateless", ONE, "k a", "k")
def plain_statements(t):
    total = t.a + 1
    if total > 3:
        total *= 2
    return {"k": t.k, "a": total}


@case("map", "stateless", ONE, "k a", "k a")
def constructs_a_tuple(t):
    return Out(t.k, a=t.a)


@case("map", "stateless", ONE, "k a", "k a")
def copies_through_locals(t):
    key, number = t.k, t.a
    pair = (key, number)
    return {"k": pair[0], "a": pair[1]}


@case("map", "stateless", ONE, "k a x", "k")
def overwrites_a_copy(t):
    made = {"k": t.k, "a": t.a}
    made["a"] = int(t.x)
    return made


@case("map", "stateless", ONE, "k a", "k")
def updates_a_dict(t):
    made = {"k": t.k}
    made.update({"a": t.a + 1})
    return made


@case("map", "stateless", ONE, "k a", "a")
def changes_in_one_branch(t):
    made = {"k": t.k, "a": t.a}
    if t.a > 2:
        made["k"] = "big"
    return made


@case("map", "stateless", ONE, "k a", "k a")
def unpacks_stars(t):
    base = {"k": t.k}
    return {**base, "a": t.a}


@case("map", "stateless", ONE, "a k", "k")
def local_list(t):
    seen = []
    for i in range(t.a):
        seen.append(i)
    seen.sort(reverse=True)
    return {"k": t.k, "a": sum(seen)}


@case("map", "stateless", ONE, "v k", "k")
def local_counter(t):
    counts = collections.Counter(t.v)
    counts.update([1, 2])
    best = counts.most_common(1)
    return {"k": t.k, "a": best[0][0]}


@case("map", "stateless", ONE, "k v", "k")
def local_defaultdict(t):
    groups = collections.defaultdict(list)
    for v in t.v:
        groups[v % 2].append(v)
    return {"k": t.k, "a": len(groups[0])}


@case("map", "stateless", ONE, "k")
def parses_json(t):
    data = json.loads(t.k)
    data["seen"] = True
    return {"k": str(data.get("name", "")).strip().lower(), "a": int(data["n"])}


PATTERN = re.compile(r"(\w+)=(\d+)")


@case("map", "stateless", ONE, "k")
def matches_a_pattern(t):
    found = PATTERN.match(t.k)
    if found is None:
        return {"k": "", "a": 0}
    return {"k": found.group(1), "a": int(found.group(2))}


@case("map", "stateless", ONE, "k a", "k")
def uses_dates(t):
    day = dt.date(2024, 1, 1) + dt.timedelta(days=t.a)
    return {"k": t.k, "a": day.toordinal() + dt.datetime.fromisoformat("2024-01-01").year}


@case("map", "stateless", ONE, "k x", "k")
def uses_math(t):
    return {"k": t.k, "a": math.floor(math.sqrt(abs(t.x)))}


@case("map", "stateless", ONE, "k a", "k")
def follows_a_helper(t):
    return {"k": t.k, "a": double(t.a) + helpers.double(1)}


@case("map", "stateless", ONE, "k", "k", "reads_mutable")
def follows_a_helper_with_a_table(t):
    return {"k": t.k, "a": int(rate(t.k))}


@case("map", "stateless", ONE, "k v", "k")
def helper_fills_a_local(t):
    mine = [1]
    fill(mine, 2)
    return {"k": t.k, "a": len(mine) + len(t.v)}


@case("map", "stateless", ONE, "k a", "k")
def passes_functions_around(t):
    return {"k": t.k, "a": apply_twice(lambda value: value + 1, t.a)}


@case("map", "stateless", ONE, "k a", "k")
def nested_closure(t):
    def scaled(factor):
        return lambda value: value * factor

    return {"k": t.k, "a": scaled(3)(t.a)}


@case("map", "stateless", ONE, "k a", "k")
def nested_nonlocal(t):
    total = 0

    def add(value):
        nonlocal total
        total += value

    add(t.a)
    add(1)
    return {"k": t.k, "a": total}


@case("map", "stateless", ONE, "k v", "k")
def comprehension_scope(t):
    a = 1
    squares = [a * a for a in t.v]
    return {"k": t.k, "a": a + len(squares)}


@case("map", "stateless", ONE, "k v", "k")
def generator_expression(t):
    factor = 2
    return {"k": t.k, "a": sum(v * factor for v in t.v if v > 0)}


@case("map", "stateless", ONE, "k v", "k")
def walrus(t):
    if (size := len(t.v)) > 2:
        return {"k": t.k, "a": size}
    return {"k": t.k, "a": -1}


@case("map", "stateless", ONE, "k a", "k")
def star_args(t):
    values = [t.a, 2]
    return {"k": t.k, "a": max(*values, 3)}


@case("map", "stateless", ONE, "k a", "k a")
def kwargs_of_a_helper(t):
    def build(**fields):
        return fields

    return build(k=t.k, a=t.a)


@case("map", "stateless", ONE, "k a", "k")
def match_statement(t):
    match t.a:
        case 0:
            found = 10
        case int(n) if n > 5:
            found = n
        case _:
            found = -1
    return {"k": t.k, "a": found}


@case("map", "stateless", ONE, "k a", "k")
def match_on_the_tuple(t):
    match t:
        case In(a=0):
            return {"k": t.k, "a": 0}
        case In(a=n):
            return {"k": t.k, "a": n + 1}


@case("map", "stateless", ONE, "k a", "k a")
def properties_and_methods_of_the_tuple(t):
    _ = t.twice, t.shout()
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, (), ALL[:2])
def returns_the_tuple(t):
    return t


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@case("map", "stateless", ONE, "k a", "k")
def enums(t):
    color = Color.RED if t.a > 1 else Color.BLUE
    return {"k": t.k, "a": color.value}


class Point(NamedTuple):
    x: int
    y: int = 0


@case("map", "stateless", ONE, "k a", "k a")
def named_tuple(t):
    p = Point(t.a)
    return {"k": t.k, "a": p.x}


@dataclass
class Box:
    items: list[int] = field(default_factory=list)
    label: str = ""

    def put(self, item):
        self.items.append(item)
        return self


@case("map", "stateless", ONE, "k a", "k")
def local_object_with_methods(t):
    box = Box(label=t.k)
    box.put(t.a).put(2)
    return {"k": box.label, "a": len(box.items)}


class Scaler:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, t):
        return {"k": t.k, "a": t.a * self.factor}

    def method(self, t):
        return {"k": t.k, "a": t.a * self.factor}

    @staticmethod
    def fixed(t):
        return {"k": t.k, "a": t.a}

    @classmethod
    def of_class(cls, t):
        return {"k": cls.__name__, "a": t.a}


case("map", "stateless", ONE, "k a", "k", "reads_mutable")(Scaler(3))
case("map", "stateless", ONE, "k a", "k", "reads_mutable")(Scaler(2).method)
case("map", "stateless", ONE, "k a", "k a")(Scaler.fixed)
case("map", "stateless", ONE, "a", "a")(Scaler.of_class)


def _scaled(factor, t, offset=0):
    return {"k": t.k, "a": t.a * factor + offset}


case("map", "stateless", ONE, "k a", "k")(functools.partial(_scaled, 3, offset=1))


@functools.lru_cache
def _slow(word):
    return len(word) ** 2


@case("map", "stateless", ONE, "k", "k")
def cached_helper(t):
    return {"k": t.k, "a": _slow(t.k)}


class Private:
    def __init__(self):
        self.__total = 0

    def __call__(self, t):
        self.__total += t.a
        return {"k": t.k, "a": self.__total}

    def reads(self, t):
        return {"k": t.k, "a": self.__total}


case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="writes self.__total")(Private())
case("map", "stateless", ONE, "k", "k", "reads_mutable")(Private().reads)

MEMO: dict[str, int] = {}


@tw.declare(state="stateless")
def _memoized(word):
    if word not in MEMO:
        MEMO[word] = len(word)
    return MEMO[word]


@case("map", "stateless", ONE, "k", "k", "reads_mutable")
def declared_helper(t):
    return {"k": t.k, "a": _memoized(t.k)}


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        result = function(*args, **kwargs)
        return result

    return wrapper


@case("map", "stateless", ONE, "k a", "k a")
@logged
def decorated_with_something_harmless(t):
    return {"k": t.k, "a": t.a}


LIMITS = {"a": 1, "b": 2}


@case("map", "stateless", ONE, "k", "k", "reads_mutable")
def reads_a_table(t):
    return {"k": t.k, "a": LIMITS.get(t.k, 0)}


@case("filter", "stateless", MAYBE, "k", ALL, "reads_mutable")
def membership_in_a_table(t):
    return t.k in LIMITS


@case("filter", "stateless", MAYBE, "v", ALL)
def any_of(t):
    return any(v > 3 for v in t.v)


@case("map", "stateless", ONE, "k v", "k")
def sorts_with_a_key(t):
    pairs = sorted(((v, -v) for v in t.v), key=operator.itemgetter(1))
    return {"k": t.k, "a": pairs[0][0] if pairs else 0}


@case("map", "stateless", ONE, "k v", "k")
def heap_of_its_own(t):
    heap = []
    for v in t.v:
        heapq.heappush(heap, v)
    return {"k": t.k, "a": heap[0] if heap else 0}


@case("map", "stateless", ONE, "k v", "k")
def itertools_chain(t):
    pairs = itertools.chain([1], t.v)
    return {"k": t.k, "a": sum(itertools.accumulate(pairs, operator.add))}


@case("map", "stateless", ONE, "k a", "k")
def seeded_by_the_tuple(t):
    chance = random.Random(t.a)
    return {"k": t.k, "a": chance.randint(0, 9)}


@case("map", "stateless", ONE, "k a", "k")
def while_loop(t):
    n = t.a
    steps = 0
    while n > 1:
        n = n // 2
        steps += 1
    return {"k": t.k, "a": steps}


@case("map", "stateless", ONE, "k", "k")
def suppresses(t):
    found = 0
    with contextlib.suppress(ValueError):
        found = int(t.k)
    return {"k": t.k, "a": found}


@case("map", "stateless", ONE, "k n", "k")
def optional_attribute(t):
    return {"k": t.k, "a": 0 if t.n is None else t.n.bit_length()}


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + other.x)


@case("map", "stateless", ONE, "k a", "k")
def operators_of_a_class(t):
    return {"k": t.k, "a": (Vector(t.a) + Vector(1)).x}


# ---------------------------------------------------------------- selectivity


@case("flat_map", "stateless", (1, 2), "k a", "k")
def yields_on_paths(t):
    yield {"k": t.k, "a": t.a}
    if t.a > 2:
        yield {"k": t.k, "a": t.a * 2}


@case("flat_map", "stateless", MANY, "k v", "k")
def yields_in_a_loop(t):
    for v in t.v:
        yield {"k": t.k, "a": v}


@case("flat_map", "stateless", (1, None), "k v", "k")
def yields_in_and_behind_a_loop(t):
    for v in t.v:
        yield {"k": t.k, "a": v}
    yield {"k": t.k, "a": 0}


@case("flat_map", "stateless", (2, 2), "k a", "k")
def delegates(t):
    yield from pieces(t)


@case("flat_map", "stateless", (2, 3), "k a", "k")
def delegates_and_adds(t):
    if t.a:
        yield Out(t.k, 1)
    yield from pieces(t)


@case("flat_map", "stateless", (3, 3), "k", "k")
def returns_a_list_of_three(t):
    return [{"k": t.k, "a": v} for v in (1, 2, 3)]


@case("flat_map", "stateless", MAYBE, "k a", "k a")
def appends_in_a_branch(t):
    out = []
    if t.a > 0:
        out.append({"k": t.k, "a": t.a})
    return out


@case("flat_map", "stateless", MAYBE, "a", ALL[:2])
def early_return(t):
    if t.a < 0:
        return []
    return [t]


@case("flat_map", "stateless", (0, 0), "a", ALL[:2])
def never(t):
    if t.a > 0:
        return []
    return ()


@case("flat_map", "stateless", MANY, "k v", "k")
def comprehension_with_a_test(t):
    return [{"k": t.k, "a": v} for v in t.v if v > 0]


@case("flat_map", "stateless", (0, 3), "k a", "k")
def bounded_comprehension_with_a_test(t):
    return [{"k": t.k, "a": v} for v in (1, 2, 3) if v > t.a]


@case("flat_map", "stateless", (0, 2), "k a x", "k")
def try_except_finally(t):
    out = []
    try:
        out.append({"k": t.k, "a": int(t.k)})
    except ValueError:
        if t.a:
            return []
    finally:
        if t.x > 0:
            out.append({"k": t.k, "a": 0})
    return out


@case("flat_map", "stateless", (0, 2), "k", "k")
def raises_between_yields(t):
    try:
        yield {"k": t.k, "a": 1}
        int(t.k)
        yield {"k": t.k, "a": 2}
    except ValueError:
        return


@case("flat_map", "stateless", (0, 1), "a k", "k")
def return_in_finally(t):
    out = []
    try:
        if t.a:
            return [1, 2, 3]
        out.append({"k": t.k, "a": 1})
    finally:
        return out


@case("flat_map", "stateless", (1, 1), "k v", "k")
def loop_with_break(t):
    found = 0
    while True:
        found += 1
        if found > len(t.v):
            break
    yield {"k": t.k, "a": found}


@case("flat_map", "stateless", (1, 2), "k v", "k")
def for_else(t):
    for v in t.v:
        if v > 3:
            break
    else:
        yield {"k": t.k, "a": 0}
    yield {"k": t.k, "a": 1}


@case("flat_map", "stateless", (1, None), "k v", "k")
def extends_a_list(t):
    out = [{"k": t.k, "a": 0}]
    out.extend({"k": t.k, "a": v} for v in t.v)
    return out


@case("flat_map", "stateless", (1, 1), "k a", "k a")
def pops_again(t):
    out = [{"k": t.k, "a": t.a}, {"k": t.k, "a": t.a}]
    out.pop()
    return out


@case("flat_map", "stateless", (0, 2), "k a", "k")
def used_up_iterator(t):
    numbers = map(abs, (1, 2))
    if t.a:
        next(numbers)
    return [{"k": t.k, "a": n} for n in numbers]


@case("flat_map", "stateless", (0, 2), "k", "k")
def iterator_used_up_by_a_function(t):
    numbers = map(abs, (1, 2))
    math.fsum(numbers)
    return [{"k": t.k, "a": n} for n in numbers]


@case("flat_map", "stateless", MANY, "k v", "k", "hash_order")
def order_of_a_set(t):
    return [{"k": t.k, "a": v} for v in set(t.v)]


@case("flat_map", "stateless", MANY, "k v", "k")
def sorted_set(t):
    return [{"k": t.k, "a": v} for v in sorted(set(t.v))]


@case("flat_map", "stateless", (1, 1), "k a", "k")
def list_in_a_dict_of_lists(t):
    groups = {}
    groups.setdefault(t.k, []).append(t.a)
    groups[t.k].append(1)
    return [{"k": t.k, "a": len(groups[t.k])}]


@case("split", "stateless", MAYBE, "a", ALL)
def chooses_a_port(t):
    match t.a % 3:
        case 0:
            return 0
        case _:
            return 1


# ---------------------------------------------------------------- hidden state

TOTALS: dict[str, int] = {}
SEEN: list[int] = []
BOX: list[list[int]] = [[1], [2]]
WINDOW = collections.deque(maxlen=3)
GROUPS = collections.defaultdict(list)
COUNT = 0
NUMBERS = itertools.count()


@case("map", "unknown", ONE, "k a", "k", "mutates", why="writes the global COUNT")
def global_counter(t):
    global COUNT
    COUNT += t.a
    return {"k": t.k, "a": COUNT}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="changes SEEN with append()")
def appends_to_a_global(t):
    SEEN.append(t.a)
    return {"k": t.k, "a": len(SEEN)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="writes TOTALS[t.k]")
def writes_an_entry(t):
    TOTALS[t.k] = TOTALS.get(t.k, 0) + t.a
    return {"k": t.k, "a": TOTALS[t.k]}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="changes mine (the global SEEN)")
def augments_an_alias(t):
    mine = SEEN
    mine += [t.a]
    return {"k": t.k, "a": len(mine)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_in_one_branch(t):
    mine = SEEN if t.a > 1 else []
    mine.append(t.a)
    return {"k": t.k, "a": len(mine)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_inside_a_local(t):
    box = [SEEN]
    box[0].append(t.a)
    return {"k": t.k, "a": len(box)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_through_a_helper(t):
    fill(SEEN, t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="REGISTRY[word]")
def state_in_another_module(t):
    return {"k": t.k, "a": register(t.k)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the default argument seen")
def default_argument(t, seen=[]):
    seen.append(t.a)
    return {"k": t.k, "a": len(seen)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="default argument")
def keyword_default(t, *, seen={}):
    seen.setdefault(t.k, t.a)
    return {"k": t.k, "a": seen[t.k]}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="changes GROUPS[t.k]")
def reading_a_defaultdict_writes(t):
    return {"k": t.k, "a": len(GROUPS[t.k])}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="WINDOW")
def moving_window(t):
    WINDOW.append(t.a)
    return {"k": t.k, "a": sum(WINDOW)}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="takes from the global NUMBERS")
def numbers_rows(t):
    return {"k": t.k, "a": next(NUMBERS)}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="deletes TOTALS[t.k]")
def deletes(t):
    if t.k in TOTALS:
        del TOTALS[t.k]
    return {"k": t.k, "a": len(TOTALS)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def bound_method_as_a_local(t):
    push = SEEN.append
    push(t.a)
    return {"k": t.k, "a": t.a * 2}


@case("map", "unknown", ONE, "k a v", "k", "mutates reads_mutable", why="the global SEEN")
def mutates_in_a_comprehension(t):
    [SEEN.append(v) for v in t.v]
    return {"k": t.k, "a": t.a * 2}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def mutates_in_a_lambda(t):
    keep = lambda value: SEEN.append(value)
    keep(t.a)
    return {"k": t.k, "a": 1}


@case("flat_map", "unknown", MANY, "k v", "k", "mutates reads_mutable", why="the global SEEN")
def mutates_in_a_lazy_generator(t):
    def remembered():
        for v in t.v:
            SEEN.append(v)
            yield v

    return ({"k": t.k, "a": v} for v in remembered())


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def late_alias_in_a_generator(t):
    target = []

    def grow():
        target.append(t.a)
        yield len(target)

    source = grow()
    target = SEEN
    return {"k": t.k, "a": next(source)}


@case("map", "unknown", ONE, "k a", "k", "mutates", why="writes Totals.total")
def class_attribute(t):
    Totals.total += t.a
    return {"k": t.k, "a": Totals.total}


class Totals:
    total = 0
    shared: list[int] = []

    def __init__(self):
        self.own = 0

    def __call__(self, t):
        self.own += t.a
        return {"k": t.k, "a": self.own}

    def through_the_class(self, t):
        self.shared.append(t.a)
        return {"k": t.k, "a": len(self.shared)}


case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="writes self.own")(Totals())
case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="changes self.shared")(Totals().through_the_class)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="class attribute")
def class_attribute_of_a_local_object(t):
    made = Totals()
    made.shared.append(t.a)
    return {"k": t.k, "a": 1}


def make_counter():
    count = 0

    def counter(t):
        nonlocal count
        count += 1
        return {"k": t.k, "a": count}

    return counter


case("map", "unknown", ONE, "k", "k", "mutates", why="writes the captured count")(make_counter())


def make_deduplicator():
    known = set()

    def is_new(t):
        if t.k in known:
            return False
        known.add(t.k)
        return True

    return is_new


case("filter", "unknown", MAYBE, "k", ALL, "mutates reads_mutable", why="changes known with add()")(make_deduplicator())


def counted(function):
    calls = {"n": 0}

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        calls["n"] += 1
        return {**function(*args, **kwargs), "a": calls["n"]}

    return wrapper


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="writes calls['n']")
@counted
def decorated_with_a_counter(t):
    return {"k": t.k, "a": t.a}


def with_attribute(t):
    with_attribute.calls += 1
    return {"k": t.k, "a": with_attribute.calls}


with_attribute.calls = 0
case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="writes with_attribute.calls")(with_attribute)


@functools.lru_cache
def _shared_list(word):
    return [len(word)]


@case("map", "unknown", ONE, "k", "k", "mutates", why="the cache of")
def mutates_what_a_cache_gave(t):
    found = _shared_list(t.k)
    found.append(1)
    return {"k": t.k, "a": len(found)}


case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the default argument")(
    functools.partial(lambda t, memo={}: {"k": t.k, "a": memo.setdefault(t.k, t.a)})
)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def walrus_alias(t):
    if (mine := SEEN) is not None:
        mine.insert(0, t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def alias_by_unpacking(t):
    _, mine = 1, SEEN
    mine.clear()
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_in_a_loop(t):
    for target in ([], SEEN):
        target.append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_in_star_args(t):
    def push(*targets):
        targets[1].append(t.a)

    push([], SEEN)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_in_an_object(t):
    box = Box(items=SEEN)
    box.put(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_in_a_finally(t):
    try:
        return {"k": t.k, "a": t.a + 1}
    finally:
        SEEN.append(t.a)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_by_match(t):
    match [SEEN, t.a]:
        case [mine, value]:
            mine.append(value)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates", why="changes SEEN")
def operator_module(t):
    operator.setitem(SEEN, 0, t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="heappush")
def heap_of_all(t):
    heapq.heappush(SEEN, t.a)
    return {"k": t.k, "a": SEEN[0]}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global BOX")
def alias_through_operator_getitem(t):
    operator.getitem(BOX, 0).append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global SEEN")
def alias_by_update(t):
    held = {}
    held.update(seen=SEEN)
    held["seen"].append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global BOX")
def alias_in_a_shallow_copy(t):
    copy.copy(BOX)[0].append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "stateless", ONE, "k a", "k", "reads_mutable")
def deep_copy(t):
    mine = copy.deepcopy(BOX)
    mine[0].append(t.a)
    return {"k": t.k, "a": len(mine)}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global BOX")
def alias_through_a_getter(t):
    operator.itemgetter(0)(BOX).append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global BOX")
def alias_in_a_sum_of_lists(t):
    sum([[BOX[0]]], [])[0].append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="the global BOX")
def alias_in_a_sorted_list(t):
    for inner in sorted(BOX, key=len):
        inner.append(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k a", "k", "mutates", why="writes helpers.LIMIT")
def attribute_of_a_module(t):
    helpers.LIMIT = t.a
    return {"k": t.k, "a": 1}


class Instances:
    total = 0

    def __call__(self, t):
        type(self).total += t.a
        return {"k": t.k, "a": type(self).total}

    def other(self, t):
        self.__class__.total += t.a
        return {"k": t.k, "a": 1}


case("map", "unknown", ONE, "k a", "k", "mutates", why="writes type(self).total")(Instances())
case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="writes self.__class__.total")(Instances().other)
case("map", "unknown", ONE, "k a", "k", "mutates", why="the object list")(
    functools.partial(lambda held, t: {"k": t.k, "a": held.append(t.a) or 1}, [])
)


@case("flat_map", "unknown", MANY, (), (), "mutates reads_mutable", why="takes from the global ROWS")
def gives_an_iterator_away(t):
    return ROWS


ROWS = iter([])


class Lazy:
    """Its attributes run code when the engine reads them."""

    def __init__(self, k):
        self.k = k

    @property
    def a(self):
        SEEN.append(1)
        return len(SEEN)


@case("map", "unknown", ONE, "k", (), "mutates reads_mutable", why="the global SEEN")
def result_with_a_property(t):
    return Lazy(t.k)


class Asked:
    def __bool__(self):
        SEEN.append(1)
        return True


@case("filter", "unknown", MAYBE, (), ALL, "mutates reads_mutable", why="the global SEEN")
def result_that_is_asked(t):
    return Asked()


class Stepping:
    def __iter__(self):
        return self

    def __next__(self):
        SEEN.append(1)
        raise StopIteration


@case("flat_map", "unknown", MANY, None, (), "mutates reads_mutable unknown_call", why="SEEN")
def result_with_its_own_steps(t):
    return Stepping()


@case("map", "unknown", ONE, "k v", "k", "mutates reads_mutable", why="the global SEEN")
def fold_with_a_function(t):
    def step(total, value):
        SEEN.append(value)
        return total + value

    return {"k": t.k, "a": functools.reduce(step, t.v, 0)}


CHANCE = random.Random(7)


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="CHANCE")
def captured_generator_of_chance(t):
    return {"k": t.k, "a": CHANCE.randint(1, 6)}


@case("map", "unknown", ONE, (), (), "mutates_input", why="writes t.a")
def changes_its_input(t):
    t.a = 5
    return t


@case("map", "unknown", ONE, "k", "k", "mutates unknown_call", why="os.environ")
def writes_the_environment(t):
    os.environ[t.k] = "1"
    return {"k": t.k, "a": 1}


# ---------------------------------------------------------------- what cannot be known


@case("map", "unknown", ONE, None, (), "unknown_call", why="exec()")
def executes_text(t):
    names = {"t": t}
    exec("a = t.a", names)
    return {"k": "", "a": names["a"]}


@case("map", "unknown", ONE, None, (), "unknown_call", why="getattr() of a name that is not constant")
def getattr_of_a_variable(t):
    return {"k": "", "a": getattr(t, "a" if len("x") else "b".lower())}


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="again, or too deep")
def recursion(t):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    return {"k": t.k, "a": factorial(t.a)}


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="source is not at hand")
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


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="looks its attributes up itself")
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


@case("map", "unknown", ONE, "k x", "k", "unknown_call", why="not there yet")
def filled_in_later(t):
    return {"k": t.k, "a": MODEL.predict(t.x)}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="imports")
def imports_while_it_runs(t):
    import not_installed_anywhere

    return {"k": t.k, "a": not_installed_anywhere.count(t.k)}


# ---------------------------------------------------------------- effects that are no state


@case("map", "stateless", ONE, "k", "k", "time")
def clock(t):
    return {"k": t.k, "a": int(time.time())}


@case("map", "stateless", ONE, "k", "k", "time")
def today(t):
    return {"k": t.k, "a": dt.date.today().year + dt.datetime.now().hour}


@case("map", "stateless", ONE, "a", "a", "randomness")
def random_name(t):
    return {"k": str(uuid.uuid4()), "a": t.a}


@case("map", "stateless", ONE, "k a", "k a", "io")
def prints(t):
    print("seen", t.k)
    return {"k": t.k, "a": t.a}


LOG = logging.getLogger("corpus")


@case("map", "stateless", ONE, "k a", "k a", "io")
def logs(t):
    LOG.info("seen %s", t.k)
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k", "k", "hash_order")
def hash_of_a_text(t):
    return {"k": t.k, "a": hash(t.k)}


# ---------------------------------------------------------------- code with state and submit


@case("custom", "one", (1, 1), "k a", "k", by=())
def returns_new_state(t, state, submit):
    total = (state or 0) + t.a
    submit({"k": t.k, "a": total})
    return total


@case("custom", ("k",), MAYBE, "k a", "k", by="k", make=lambda f: (f, {}))
def changes_its_state(t, state, submit):
    state["n"] = state.get("n", 0) + t.a
    if state["n"] > 10:
        submit({"k": t.k, "a": state["n"]})


@case("custom", "stateless", (1, 2), "k a", "k a", by=())
def uses_no_state(t, state, submit):
    submit({"k": t.k, "a": t.a})
    if t.a > 3:
        submit(Out(t.k, t.a))


@case("custom", "one", MANY, "k a", "k", by=(), make=lambda f: (f, []))
def submits_in_a_loop(t, state, submit):
    state.append(t.a)
    for value in state:
        submit({"k": t.k, "a": value})


@case("custom", "one", (1, 1), None, (), by=(), make=lambda f: (f, []))
def emits_an_old_tuple(t, state, submit):
    state.append(t)
    submit(state[0])


@case("custom", "unknown", (1, 1), "k a", "k a", "mutates reads_mutable", by="k", why="the global SEEN")
def hides_state_beside_its_state(t, state, submit):
    SEEN.append(t.a)
    submit({"k": t.k, "a": t.a})


def _emit(submit, t):
    submit({"k": t.k, "a": t.a})


@case("custom", "stateless", (2, 2), "k a", "k a", by=())
def submits_in_a_helper(t, state, submit):
    _emit(submit, t)
    _emit(submit, t)


class Running(tw.Operator):
    def __init__(self):
        self.total = 0

    def process(self, t, port):
        self.total += t.a
        self.submit({"k": t.k, "a": self.total})


case("custom", ("k",), ONE, "k a", "k", by="k", why="writes self.total")(Running())


class Base(tw.Operator):
    def __init__(self, limit):
        self.limit = limit

    def accept(self, t):
        return t.a < self.limit

    def process(self, t, port):
        if self.accept(t):
            self.submit(t)


case("custom", "stateless", MAYBE, "a", ALL[:2], by=())(Base(3))


class Child(Base):
    def __init__(self, limit):
        super().__init__(limit)
        self.held = []

    def accept(self, t):
        self.held.append(t.a)
        return super().accept(t) and len(self.held) < 5


case("custom", ("k",), MAYBE, "a", ALL[:2], by="k", why="changes self.held")(Child(3))


class OnClass(tw.Operator):
    seen: dict[str, int] = {}

    def process(self, t, port):
        self.seen[t.k] = t.a
        self.submit({"k": t.k, "a": len(self.seen)})


case("custom", "unknown", ONE, "k a", "k", "mutates reads_mutable", by="k", why="writes self.seen[t.k]")(OnClass())


class Closing(tw.Operator):
    def process(self, t, port):
        return None

    def at_end(self):
        self.submit({"k": "", "a": 0})


case("custom", "one", (0, 0), (), ALL[:2], by=())(Closing())


class UsesResource(tw.Operator):
    def setup(self):
        return {"a": 1}

    def process(self, t, port):
        self.submit({"k": t.k, "a": self.resource.get(t.k, 0)})


case("custom", "stateless", ONE, "k", "k", by=())(UsesResource())


class WritesResource(tw.Operator):
    def setup(self):
        return {}

    def process(self, t, port):
        self.resource[t.k] = t.a
        self.submit({"k": t.k, "a": len(self.resource)})


case("custom", "unknown", ONE, "k a", "k", "mutates", by=(), why="self.resource[t.k]")(WritesResource())


class Keeper:
    def __init__(self):
        self.last = None

    def swap(self, value):
        old, self.last = self.last, value
        return old


class WithParts(tw.Operator):
    """State in an object of its own."""

    def __init__(self):
        self.keeper = Keeper()
        self.windows = {}

    def process(self, t, port):
        self.windows.setdefault(t.a, Keeper()).swap(t.x)
        if self.keeper.swap(t.a) is not None:
            self.submit({"k": t.k, "a": t.a})


case("custom", ("k",), MAYBE, "k a x", "k a", by="k", why="self.windows")(WithParts())


class TwoPorts(tw.Operator):
    """Which port a tuple takes decides what is emitted where."""

    def process(self, t, port):
        if port == 0:
            self.submit({"k": t.k, "a": t.a}, port=0)
        else:
            self.submit(Out(k=t.k, a=0), 1)


class AnyPort(tw.Operator):
    def process(self, t, port):
        self.submit({"k": t.k, "a": t.a}, t.a % 2)


MULTI = [
    (TwoPorts(), [(0, 1), (0, 1)], [["k a", "k a"], ["k a", "k"]]),
    (AnyPort(), [(0, 1), (0, 1)], [["k a", "k a"], ["k a", "k a"]]),
]

# ---------------------------------------------------------------- monkeypatching


def _original(value):
    return value + 1


def _patched(value):
    SEEN.append(value)
    return value + 1


class Tool:
    step = staticmethod(_original)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def monkeypatched(t):
    return {"k": t.k, "a": Tool.step(t.a)}


Tool.step = staticmethod(_patched)


@case("map", "unknown", ONE, None, "k", "unknown_call", why="async def")
def coroutine_inside(t):
    async def later():
        return t.a

    later()
    return {"k": t.k, "a": t.a + 1}


# ---------------------------------------------------------------- functions that are called by others, many times


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


# ---------------------------------------------------------------- fields that are perhaps not there


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


# ---------------------------------------------------------------- code that runs later than it is written


@case("flat_map", "stateless", MANY, "k")
def list_filled_behind_its_generator(t):
    out = []

    def rows():
        yield from out

    found = rows()
    out.append({"k": t.k, "a": 1})
    return found


@case("flat_map", "stateless", MANY, "k v", "k")
def generator_that_ends_with_an_error(t):
    def drain(stack):
        while True:
            yield {"k": t.k, "a": stack.pop()}

    try:
        yield from drain(list(t.v))
    except IndexError:
        return


@case("flat_map", "stateless", ONE, "k a", "a")
def dict_changed_behind_its_generator(t):
    made = {"k": t.k, "a": t.a}
    found = (made for _ in (1,))
    made["k"] = "x"
    return found


@case("flat_map", "unknown", MAYBE, "k", "k", "mutates reads_mutable", why="the global SEEN")
def flag_set_behind_its_generator(t):
    options = {"on": False}

    def rows():
        if options["on"]:
            SEEN.append(1)
            yield {"k": t.k, "a": 1}

    found = rows()
    options["on"] = True
    return found


@case("map", "stateless", ONE, "k a")
def generator_that_changes_a_dict(t):
    made = {"k": t.k, "a": t.a}
    found = (made.update(k="x") for _ in (1,))
    made["k"] = t.k
    next(found)
    return made


@case("flat_map", "stateless", (0, 2), "k")
def dict_changed_between_two_yields(t):
    def rows():
        made = {"k": t.k, "a": 1}
        yield made
        yield made

    found = rows()
    next(found)["k"] = "x"
    return found


@case("flat_map", "stateless", (0, 3), "k", "k")
def iterator_advanced_behind_its_generator(t):
    numbers = iter((1, 2, 3))
    found = ({"k": t.k, "a": n} for n in numbers)
    next(numbers)
    return found


@case("flat_map", "stateless", (0, 3), "k", "k")
def iterator_advanced_by_its_method(t):
    numbers = iter(({"k": t.k, "a": 1}, {"k": t.k, "a": 2}, {"k": t.k, "a": 3}))
    numbers.__next__()
    return numbers


@case("flat_map", "stateless", MANY, "k a", "k")
def comprehension_over_a_list_that_grows(t):
    waiting = [t.a]
    return [{"k": t.k, "a": n} for n in waiting if n < 3 and waiting.append(n + 1) is None]


@case("flat_map", "stateless", MANY, "k", "k")
def view_made_before_its_dict_is_filled(t):
    numbers = {}
    numbers.clear()
    view = numbers.items()
    numbers["x"] = 1
    return [{"k": t.k, "a": n} for _, n in view]


@case("flat_map", "stateless", MANY, "k v", "k")
def builds_and_yields(t):
    for v in t.v:
        made = {"k": t.k}
        made["a"] = v
        yield made


@case("flat_map", "stateless", MANY, "k v", "k")
def collects_from_a_generator(t):
    out = []
    for row in builds_and_yields(t):
        out.append(row)
    return out


# ---------------------------------------------------------------- what a cache or setup made


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


# ---------------------------------------------------------------- aliases through Python's own functions


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


@case("map", "unknown", ONE, "k", "k", "io unknown_call", why="prints into something")
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


# ---------------------------------------------------------------- hashes, truth and order with code of their own


class Noisy:
    def __hash__(self):
        SEEN.append(1)
        return 1

    def __bool__(self):
        SEEN.append(1)
        return True

    def __lt__(self, other):
        SEEN.append(1)
        return True


NOISY = Noisy()


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="code of their own")
def hash_in_a_set(t):
    found = set()
    found.add(NOISY)
    return {"k": t.k, "a": len(found)}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="code of their own")
def hash_in_a_dict(t):
    return {"k": t.k, "a": len({key: n for n, key in enumerate((NOISY,))})}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="code of their own")
def hash_in_a_counter(t):
    return {"k": t.k, "a": len(collections.Counter([NOISY]))}


@case("map", "unknown", ONE, "k v", "k", "mutates reads_mutable", why="SEEN")
def truth_of_what_a_test_gives(t):
    return {"k": t.k, "a": len(list(filter(lambda v: NOISY, t.v)))}


@case("map", "unknown", ONE, "k v", "k", "unknown_call", why="compares objects")
def order_of_what_a_key_gives(t):
    return {"k": t.k, "a": sorted(t.v, key=lambda v: NOISY)[0]}


# ---------------------------------------------------------------- the tuple as a whole

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


# ---------------------------------------------------------------- what code that runs later does not see


@case("flat_map", "stateless", MANY, "k v", "k")
def changes_the_rows_of_a_generator(t):
    for row in ({"k": t.k, "a": v} for v in t.v):
        row["a"] = 3
        yield row


@case("flat_map", "unknown", ONE, "k", (), "unknown_call", why="uses .send of an iterator")
def sends_into_a_generator(t):
    def rows():
        made = {"k": t.k, "a": 1}
        made["k"] = yield made
        yield made

    found = rows()
    next(found)
    return [found.send("x")]


@case("map", "unknown", ONE, "k", (), "unknown_call", why="calls __setattr__")
def attribute_behind_code_that_cannot_be_read(t):
    box = Box(label=t.k)
    object.__setattr__(box, "label", "x")
    return {"k": box.label, "a": 1}


@case("flat_map", "stateless", MAYBE, "k")
def changes_an_earlier_row_than_it_makes(t):
    waiting, rows = [], []
    for _ in (1, 2):
        row = {"k": t.k, "a": 1}
        if rows:
            rows[0]["k"] = "x"
            return waiting[0]
        rows.append(row)
        waiting.append(made for made in (row,))
    return []


@case("flat_map", "stateless", MANY, "k a v", "k a")
def builds_rows_key_by_key(t):
    for v in t.v:
        row = {}
        row["k"] = t.k
        if v:
            row["a"] = t.a
        yield row


@case("map", "stateless", ONE, "k a", "k")
def counter_that_adds(t):
    counts = collections.Counter({"x": t.a}, x=t.a)
    return {"k": t.k, "a": counts["x"]}


@case("flat_map", "unknown", MANY, None, (), "unknown_call", why="again")
def fills_a_list_by_recursion(t):
    out = []

    def fill_up(n):
        out.append({"k": t.k, "a": n})
        if n:
            fill_up(n - 1)

    fill_up(t.a)
    return out


@case("flat_map", "stateless", (0, 3), "k", "k")
def map_that_ends_with_another_iterator(t):
    numbers = iter((1, 2))
    return list(map(lambda _: {"k": t.k, "a": next(numbers)}, (1, 2, 3)))


# ---------------------------------------------------------------- what was lost, and code that hides


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def calls_dunder_of_a_function(t):
    def add(x):
        SEEN.append(x)

    add.__call__(t.a)
    return {"k": t.k, "a": 1}


@case("map", "stateless", ONE, "k a", "k")
def helper_with_nothing_to_do(t):
    def helper(extra):
        if extra is not None:
            extra.append(t.a)
        return getattr(t, "missing", 0)

    return {"k": t.k, "a": helper(None) + t.a}


class Summing:
    def __init__(self):
        super().__init__()
        self.total = 0

    def __call__(self, x):
        self.total += x
        return self.total


@functools.lru_cache
def _summing():
    return Summing()


@case("map", "unknown", ONE, "k a", "k", "mutates", why="self.total")
def calls_what_a_cache_holds(t):
    return {"k": t.k, "a": _summing()(t.a)}


@case("map", "stateless", ONE, "k a", "k")
def calls_an_object(t):
    return {"k": t.k, "a": Summing()(t.a)}


@functools.lru_cache
def _pusher():
    return functools.partial(SEEN.append)


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="was kept")
def calls_a_partial_that_a_cache_holds(t):
    _pusher()(t.a)
    return {"k": t.k, "a": 1}


class ResourceIsCalled(tw.Operator):
    def setup(self):
        return Summing()

    def process(self, t, port):
        self.submit({"k": t.k, "a": self.resource(t.a)})


case("custom", "unknown", ONE, "k a", "k", "mutates", by="k", why="self.total")(ResourceIsCalled())


class KeepsALambda(tw.Operator):
    def __init__(self):
        self.add = None

    def process(self, t, port):
        if self.add is None:
            self.add = lambda x: SEEN.append(x)
        self.add(t.a)
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", MANY, "k a", (), "unknown_call", by="k", why="self.add")(KeepsALambda())


@functools.lru_cache
def _id_of(k):
    return uuid.uuid4().int


@case("map", "unknown", ONE, "k", "k", "randomness unknown_call", why="the cache of _id_of")
def caches_what_was_drawn(t):
    return {"k": t.k, "a": _id_of(t.k)}


class BaseMaker:
    @classmethod
    def build(cls, t):
        SEEN.append(t.a)
        return {"k": "", "a": 0}


class Maker(BaseMaker):
    @classmethod
    def build(cls, t):
        return super().build(t)


@case("map", "unknown", ONE, "a", (), "mutates reads_mutable", why="SEEN")
def super_in_a_class_method(t):
    return Maker.build(t)


class SubmitsBySuper(tw.Operator):
    def process(self, t, port):
        super().submit({"k": t.k, "a": t.a})


case("custom", "stateless", ONE, "k a", "k a", by=())(SubmitsBySuper())


class SubmitsByClass(tw.Operator):
    def process(self, t, port):
        tw.Operator.submit(self, {"k": t.k, "a": 0})


case("custom", "stateless", ONE, "k", "k", by=())(SubmitsByClass())


class SubmitsItsWay(tw.Operator):
    def submit(self, value, port=0, *, rank=0):
        super().submit(value | {"k": "x"}, port)

    def process(self, t, port):
        self.submit({"k": t.k, "a": t.a})


case("custom", "stateless", MAYBE, "k a", (), by=())(SubmitsItsWay())


@case("custom", "stateless", ONE, "k a", "a", by=())
def changes_what_was_submitted(t, state, submit):
    row = {"k": t.k, "a": t.a}
    submit(row)
    row["k"] = "x"


class ChangesByAnAlias(tw.Operator):
    def process(self, t, port):
        row = {"k": t.k, "a": t.a}
        self.last = row
        self.last["k"] = "x"
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(ChangesByAnAlias())


class UpdatesByAnAlias(tw.Operator):
    def process(self, t, port):
        row = Out(k=t.k, a=t.a)
        self.rows = [row]
        self.rows[0].k = "x"
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(UpdatesByAnAlias())


class CountsInAClass(tw.Operator):
    def __init__(self):
        self.kind = Tool

    def process(self, t, port):
        self.kind.total = t.a
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", ONE, "k a", "k", "mutates", by="k", why="self.kind.total")(CountsInAClass())


class AppendsByAFunction(tw.Operator):
    def __init__(self):
        self.add = [SEEN.append]

    def process(self, t, port):
        self.add[0](t.a)
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", ONE, "k a", "k", "mutates reads_mutable", by="k", why="append")(AppendsByAFunction())


class OneForAll:
    def __init__(self):
        self.count = 0

    def __deepcopy__(self, memo):
        return self


class HoldsOneForAll(tw.Operator):
    def __init__(self):
        self.box = OneForAll()

    def process(self, t, port):
        self.box.count += 1
        self.submit({"k": t.k, "a": self.box.count})


case("custom", "unknown", ONE, "k", "k", "mutates reads_mutable", by="k", why="self.box.count")(HoldsOneForAll())


class CountsInACounter(tw.Operator):
    def __init__(self):
        self.counts = collections.Counter()

    def process(self, t, port):
        self.counts[t.a] += 1
        self.submit({"k": t.k, "a": self.counts[t.a]})


case("custom", ("k",), ONE, "k a", "k", by="k")(CountsInACounter())


class Removing:
    def __delitem__(self, key):
        SEEN.append(key)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def deletes_with_code(t):
    del Removing()[t.a]
    return {"k": t.k, "a": 1}


_TABLES = {str(i): collections.defaultdict(int) for i in range(20)}


@case("map", "unknown", ONE, "k a", "k", "reads_mutable unknown_call", why="an element")
def inserts_by_reading(t):
    return {"k": t.k, "a": _TABLES[t.k][t.a]}


class Stripped(collections.namedtuple("Stripped", "name size")):
    def __new__(cls, name, size=0):
        return super().__new__(cls, name.strip(), size)


@case("map", "unknown", ONE, "k a", "a", "unknown_call", why="Stripped")
def named_tuple_with_code(t):
    return {"k": Stripped(t.k).name, "a": t.a}


class Pair(NamedTuple):
    name: str
    size: int = 0

    def twice(self):
        return self.size * 2


@case("map", "stateless", ONE, "k a", "k a")
def named_tuple_without_code(t):
    pair = Pair(t.k, t.a)
    return {"k": pair.name, "a": pair[1]}


@dataclass(kw_only=True)
class Named:
    k: str = ""


@dataclass
class Sized(Named):
    a: int = 0
    x: str = ""


@case("map", "stateless", ONE, "k a", "a")
def dataclass_with_named_fields(t):
    made = Sized(t.a, t.k)
    return {"k": made.k, "a": made.a}


@dataclass
class Loud:
    k: str

    def __setattr__(self, name, value):
        SEEN.append(name)
        object.__setattr__(self, name, value.upper())


@case("map", "unknown", ONE, "k a", "a", "unknown_call", why="Loud")
def dataclass_that_sets_itself(t):
    return {"k": Loud(t.k).k, "a": t.a}


class LoudOut(Out):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, str(value))


@case("map", "unknown", ONE, None, (), "unknown_call")
def tuple_that_sets_itself(t):
    return LoudOut(k=t.k, a=t.a)


@case("flat_map", "unknown", ONE, "k a", "k", "unknown_call", why="got.append")
def value_of_yield_from(t):
    def inner():
        yield {"k": t.k, "a": 1}
        return SEEN

    got = yield from inner()
    got.append(t.a)


class Leaving:
    def __init__(self, row):
        self.row = row

    def __enter__(self):
        return self.row

    def __exit__(self, kind, error, trace):
        if kind:
            SEEN.append(1)
        self.row["k"] = "x"


@case("map", "unknown", ONE, "k a", "a", "mutates reads_mutable", why="SEEN")
def leaves_with_code(t):
    with Leaving({"k": "", "a": 0}) as row:
        row["k"] = t.k
        row["a"] = t.a
        return row


@case("custom", "stateless", MAYBE, "k a", "k", by=())
def compares_in_a_chain(t, state, submit):
    if 1 < t.a < (submit({"k": t.k, "a": 1}) or 5):
        return


@case("map", "stateless", ONE, "k a x", "a")
def one_of_two_patterns(t):
    match t:
        case In(x=0.0 as q) | In(k=q):
            pass
    return {"k": str(q) if q == 0 else q, "a": t.a}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def takes_a_slice_by_name(t):
    first = slice(0, 1)
    [SEEN][first][0].append(t.a)
    return {"k": t.k, "a": 1}


@case("flat_map", "stateless", MANY, "k a", "k a")
def assigns_a_slice(t):
    out = []
    out[:] = [{"k": t.k, "a": t.a}]
    return out


class Indexing:
    def __index__(self):
        SEEN.append(1)
        return 0

    def __eq__(self, other):
        SEEN.append(other)
        return True

    def __round__(self):
        SEEN.append(1)
        return 0


class Shy:
    def __eq__(self, other):
        return NotImplemented


INDEXING, SHY = Indexing(), Shy()


@case("map", "unknown", ONE, "k v", "k", "unknown_call", why="an index")
def index_with_code(t):
    return {"k": t.k, "a": len(t.v[INDEXING:])}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="SEEN")
def the_right_one_compares(t):
    return {"k": t.k, "a": 1 if SHY == INDEXING else 2}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="round")
def rounds_with_code(t):
    return {"k": t.k, "a": round(INDEXING)}


@dataclass
class Holder:
    inner: object


HOLDER = Holder(INDEXING)


@case("map", "unknown", ONE, "k", "k", "reads_mutable unknown_call")
def compares_what_fields_hold(t):
    return {"k": t.k, "a": 1 if Holder(1) == HOLDER else 0}


class Asking(type):
    def __contains__(cls, x):
        SEEN.append(x)
        return True

    def __instancecheck__(cls, x):
        SEEN.append(x)
        return True


class AskedClass(metaclass=Asking):
    pass


@case("filter", "unknown", MAYBE, "k", ALL, "unknown_call", why="asks a class")
def asks_a_class(t):
    return t.k in AskedClass or isinstance(t.k, AskedClass)


class Spoken(enum.Enum):
    A = 1

    def __str__(self):
        SEEN.append(1)
        return ""


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="SEEN")
def shows_an_enum(t):
    return {"k": f"{Spoken.A}", "a": t.a}


class Told(Exception):
    def __str__(self):
        SEEN.append(1)
        return ""


@case("map", "unknown", ONE, "a", "a", "unknown_call")
def shows_an_exception(t):
    try:
        raise Told
    except Told as error:
        text = str(error)
    return {"k": text, "a": t.a}


class Sub(dict):
    @property
    def count(self):
        self["n"] = self.get("n", 0) + 1
        return self["n"]

    def grow(self):
        SEEN.append(1)


SUB = Sub()


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable unknown_call")
def property_of_a_dict(t):
    SUB.grow()
    return {"k": t.k, "a": SUB.count}


class Counting(logging.Logger):
    def info(self, *args):
        SEEN.append(args)


COUNTING = Counting("counting")


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def logger_with_code(t):
    COUNTING.info("x")
    return {"k": t.k, "a": t.a}


class Watched:
    def __get__(self, owner, cls=None):
        SEEN.append(1)
        return owner.__dict__["size"]

    def __set__(self, owner, value):
        SEEN.append(value)
        owner.__dict__["size"] = value


class WithWatched:
    size = Watched()

    def __init__(self, size):
        self.size = size


WATCHED = WithWatched(1)


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="when it is set")
def writes_with_a_descriptor(t):
    WithWatched(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "reads_mutable unknown_call", why="size of WithWatched")
def reads_with_a_descriptor(t):
    return {"k": t.k, "a": WATCHED.size}


GROWING = collections.defaultdict(int)


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="may insert")
def formats_with_a_growing_dict(t):
    return {"k": "%(x)s" % GROWING, "a": t.a}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="GROWING")
def gets_an_item_of_a_growing_dict(t):
    return {"k": t.k, "a": operator.getitem(GROWING, t.a)}


ORIGIN = Pair("x", 3)


@case("map", "stateless", ONE, "k a", "k")
def field_of_a_captured_named_tuple(t):
    return {"k": t.k, "a": t.a + ORIGIN.size}


@case("map", "stateless", ONE, "k", ())
def unpacks_the_keys_of_a_dict(t):
    k, a = {0: t.k, 1: 2}
    return {"k": str(k), "a": a}


class Side(str, enum.Enum):
    BUY = "buy"

    def __str__(self):
        return self.value


@case("map", "stateless", ONE, "k a", ())
def shows_a_harmless_enum(t):
    return {"k": f"{Side.BUY}" if t.k == Side.BUY else str(Side.BUY), "a": t.a + 1}


NO_RULES = []


@case("map", "stateless", ONE, "k a", "k", "reads_mutable")
def no_rules_at_all(t):
    for rule in NO_RULES:
        if rule.match(t.k):
            return {"k": t.k, "a": rule.number}
    return {"k": t.k, "a": t.a + 1}


@functools.lru_cache
def _rows():
    return []


@case("map", "unknown", ONE, "k a", (), "mutates", why="_rows()")
def changes_what_a_cache_holds(t):
    row = {"k": t.k, "a": t.a}
    _rows().append(row)
    _rows()[0]["k"] = "x"
    return row


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="GROWING")
def changes_by_the_type(t):
    dict.__setitem__(GROWING, t.k, t.a)
    return {"k": t.k, "a": 1}


class SetsByAnAlias(tw.Operator):
    def process(self, t, port):
        row = {"k": t.k, "a": t.a}
        self.last = row
        operator.setitem(self.last, "k", "x")
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(SetsByAnAlias())


@dataclass
class Plain:
    k: str = ""
    a: int = 0


@case("map", "stateless", ONE, "k a", ())
def deletes_an_attribute(t):
    made = Plain(t.k, t.a)
    del made.k
    return made


class Echo:
    def __repr__(self):
        SEEN.append(1)
        return ""

    def __str__(self):
        return ""


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="SEEN")
def shows_an_object_in_ascii(t):
    return {"k": f"{Echo()!a}", "a": t.a}


@case("map", "stateless", ONE, "a", "a")
def shows_an_object(t):
    return {"k": f"{Echo()}", "a": t.a}
