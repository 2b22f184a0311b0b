"""Cases: nothing hidden."""

# ruff: noqa: PERF402, RET504
# mypy: ignore-errors

from __future__ import annotations

import collections
import contextlib
import datetime as dt
import enum
import functools
import heapq
import itertools
import json
import math
import operator
import random
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import thalweg as tw
from tests.analysis.corpus import helpers
from tests.analysis.corpus.base import ALL, MAYBE, ONE, In, Out, case
from tests.analysis.corpus.helpers import apply_twice, double, fill, rate


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
