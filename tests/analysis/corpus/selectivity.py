"""Cases: selectivity."""

# ruff: noqa: B012
# mypy: ignore-errors

from __future__ import annotations

import math

from tests.analysis.corpus.base import ALL, MANY, MAYBE, Out, case
from tests.analysis.corpus.helpers import pieces


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
