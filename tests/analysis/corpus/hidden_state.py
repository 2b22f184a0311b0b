"""Cases: hidden state."""

# ruff: noqa: B006, RUF017
# mypy: ignore-errors

from __future__ import annotations

import collections
import copy
import functools
import heapq
import itertools
import operator
import os
import random

from tests.analysis.corpus import helpers
from tests.analysis.corpus.base import ALL, MANY, MAYBE, ONE, case
from tests.analysis.corpus.helpers import fill, register
from tests.analysis.corpus.plain import Box

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


case("map", "unknown", ONE, "k", "k", "mutates", why="writes the captured variable count")(make_counter())


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
