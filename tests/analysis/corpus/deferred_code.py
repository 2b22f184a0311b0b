"""Cases: code that runs later than it is written."""

# ruff: noqa: C417, PERF402
# mypy: ignore-errors

from __future__ import annotations

import collections

from tests.analysis.corpus.base import MANY, MAYBE, ONE, case
from tests.analysis.corpus.plain import Box

SEEN: list[int] = []


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


@case("flat_map", "unknown", MANY, None, (), "unknown_call", why="recursively")
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
