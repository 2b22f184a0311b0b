"""The user functions that random graphs are made of.

They stand in a file of their own because Thalweg reads their source. All of them take a `Base` tuple, and what they
return has `Base`'s attributes again, so any operator can follow any other. `n` stays small, so that it can be summed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import methodcaller
from types import SimpleNamespace
from typing import Any

import thalweg as tw
from thalweg import agg

RowFunction = Callable[[Any], Any]


class Base(tw.Tuple):
    """Two attributes of each kind: one takes nasty values (i, x, s), one is a good key (n, y, k)."""

    i: int
    n: int
    x: float
    y: float
    s: str
    k: str
    b: bool

    def doubled(self) -> float:
        return self.x * 2.0

    @property
    def is_far(self) -> bool:
        return self.n > 1


THREE = 3
HALF = 0.5
CHOSEN = True
WORD = "a"


WORDS = ["a", "日本語", "ab"]


def helper(t: Any) -> int:
    """Opaque: it makes a list."""
    return len(list(t.s)) + int(abs(t.n) % 5)


def readable_helper(t: Any, factor: int = 2) -> int:
    size = len(t.s) * factor
    return min(size, 9) + int(abs(t.n) % 5)


def grade(value: float, *, low: float = 0.25) -> str:
    if value != value:
        return "nan"
    if value < low:
        return "low"
    return "high" if value > HALF else ""


# Predicates


def two_statements(t: Any) -> bool:
    far = t.n > 1
    return bool(far or t.b)


def early_predicate(t: Any) -> Any:
    """`share` may raise, but only where the first test lets it be computed."""
    if not t.n:
        return t.b
    share = t.x / t.n
    if share > HALF:
        return t.k != "b"
    return share == share


ANALYZABLE_PREDICATES: dict[str, RowFunction] = {
    "int_above": lambda t: t.n > 0,
    "int_between": lambda t: -1 <= t.n < THREE,
    "int_vs_float": lambda t: t.i <= t.x,
    "float_vs_int": lambda t: t.x != t.i,
    "float_vs_const": lambda t: t.y >= 0.5,
    "const_vs_float": lambda t: THREE > t.x,  # noqa: SIM300
    "text_is_const": lambda t: t.k == WORD,
    "const_is_not_text": lambda t: "b" != t.k,  # noqa: SIM300
    "text_is_text": lambda t: t.k == t.s,
    "text_is_not_text": lambda t: t.s != t.k,
    "flag": lambda t: t.b,
    "not_flag": lambda t: not t.b,
    "flag_is_test": lambda t: t.b == (t.n > 0),
    "flag_is_not_test": lambda t: t.b != (t.x < t.y),
    "short_circuit": lambda t: t.n == 0 or 6 // t.n != 2,
    "guarded": lambda t: t.y != 0.0 and t.x / t.y > 0.25,
    "choice": lambda t: t.b if t.n > 0 else t.x == t.x,
    "always": lambda t: True,
    "never": lambda t: False,
    "captured_choice": lambda t: t.b if CHOSEN else False,
    "constant_choice": lambda t: True if CHOSEN else False,  # noqa: SIM210
    "modulo": lambda t: t.i % 2 == 0,
    "overflow_inside": lambda t: t.i * t.i > 4,
    "neg_and_abs": lambda t: -t.n < abs(t.i - 1),
    "truth_of_text": lambda t: t.k,
    "truth_of_int": lambda t: t.n,
    "truth_of_float": lambda t: not t.x or t.s,
    "membership": lambda t: t.k in ("a", "b") or t.n in {1, 2.0, 7} or t.x in (0, 0.5),
    "membership_of_captured": lambda t: t.s not in WORDS,
    "text_methods": lambda t: t.s.strip().upper().startswith("A") or t.s.isalpha(),
    "text_order": lambda t: t.s < t.k or t.k >= "b",
    "text_in_text": lambda t: t.k in t.s,
    "calls_readable": lambda t: readable_helper(t) > 2 or grade(t.y) == "low",
    "bits": lambda t: (t.n << 2 | 1) & 6 != 4 and ~t.i ^ t.n >> 1 != 0,
    "guarded_logarithm": lambda t: t.y > 0 and math.log(t.y) > -0.5,
    "float_floor": lambda t: t.y != 0 and (t.x // t.y == 1.0 or t.x % t.y < 0.25),
    "two_statements": two_statements,
    "early": early_predicate,
    "least": lambda t: min(t.x, t.y, 0.5) < max(t.x, -1.0),
    "mixed_least": lambda t: 1.0 * min(t.x, t.i) < 2.0,
}


def try_predicate(t: Any) -> bool:
    try:
        return bool(10 // t.n > 1)
    except ZeroDivisionError:
        return True


OPAQUE_PREDICATES: dict[str, RowFunction] = {
    "calls_helper": lambda t: helper(t) > 2,
    "comprehension": lambda t: any(c == "a" for c in t.s),
    "with_try": try_predicate,
}

# Maps

ANALYZABLE_MAPS: dict[str, RowFunction] = {
    "copy": lambda t: {"i": t.i, "n": t.n, "x": t.x, "y": t.y, "s": t.s, "k": t.k, "b": t.b},
    "swap": lambda t: {"i": t.n, "n": t.n, "x": t.y, "y": t.x, "s": t.k, "k": t.s, "b": not t.b},
    "int_arithmetic": lambda t: {
        "i": (t.i + t.n) % 1000003,
        "n": (t.n * 2 - THREE) % 7,
        "x": t.x,
        "y": t.y,
        "s": t.s,
        "k": t.k,
        "b": t.b,
    },
    "edges": lambda t: {
        "i": t.i - 1 if t.i > 0 else t.i + 1,
        "n": t.n,
        "x": t.x,
        "y": t.y,
        "s": t.s,
        "k": t.k,
        "b": t.i >= 0,
    },
    "overflow_on_the_way": lambda t: {
        "i": (t.i * t.n) % 97,
        "n": -(t.n % 5),
        "x": t.x,
        "y": t.y,
        "s": t.s,
        "k": t.k,
        "b": t.b or t.n == 1,
    },
    "int_division": lambda t: {
        "i": t.i // (abs(t.n) + 1),
        "n": abs(t.n // 2),
        "x": t.i / 7,
        "y": t.n / (t.n * t.n + 1),
        "s": t.s,
        "k": t.k,
        "b": t.b,
    },
    "float_arithmetic": lambda t: Base(t.i, t.n, t.x + t.y * HALF, t.x - t.n, t.s, t.k, t.x < t.y),
    "float_division": lambda t: Base(t.i, t.n, t.x / (abs(t.y) + 1.0), 1 / (t.n * t.n + 0.5), t.s, t.k, t.b),
    "negative": lambda t: Base(i=-(t.i // 2), n=t.n, x=-t.x, y=abs(t.y), s=t.s, k=t.k, b=t.x == t.y),
    "mixed": lambda t: Base(t.i, t.n, t.i * HALF, t.x + t.i, t.s, t.k, t.i != t.x),
    "constants": lambda t: {"i": THREE, "n": 1, "x": -0.0, "y": HALF, "s": WORD, "k": t.k, "b": True},
    "choices": lambda t: {
        "i": t.i if t.b else THREE,
        "n": 1 if CHOSEN else 2,
        "x": t.x if t.x > t.y else t.y,
        "y": 0.25 if t.b else -0.25,
        "s": t.s,
        "k": t.k,
        "b": t.b if CHOSEN else t.x > 0,
    },
    "another_order": lambda t: {"b": t.b, "k": t.k, "s": t.s, "y": t.y, "x": t.x - 1.5, "n": t.n, "i": t.i},
}


def statements_map(t: Any) -> Any:
    """Several statements, one of which reads what the result does not need."""
    word = t.s.strip().lower()
    unused = t.y  # noqa: F841
    size = len(word)
    if size > 3:
        word = word[:3] + "…"
        size -= 1
    elif t.b:
        size += abs(t.n)
    return Base(t.i, size % 7, t.x, 0.5, word, t.k, size > 2)


def branching_map(t: Any) -> Any:
    if t.k == "a":
        return {"i": t.i, "n": t.n, "x": t.x, "y": t.y, "s": t.s, "k": t.k.upper(), "b": True}
    if t.y == 0 or t.y != t.y:
        return Base(t.n, 1, t.x, 1.0, "zero", t.k, False)
    ratio = t.x / t.y
    return Base(int(ratio) if abs(ratio) < 1000 else THREE, t.n, ratio, t.y, grade(ratio), t.k, t.b)


ANALYZABLE_MAPS |= {
    "statements": statements_map,
    "branching": branching_map,
    "texts": lambda t: Base(
        t.s.find("a"), len(t.k), t.x, t.y, f"{t.s}é{t.n}", (t.k or "none").replace("b", "bb"), t.k in t.s
    ),
    "pairs_of_text": lambda t: Base(t.i, len(t.s + t.k) % 5, t.x, t.y, t.s + "|" + t.k, min(t.k, t.s), t.s < t.k),
    "chosen_text": lambda t: Base(t.i, t.n, t.x, t.y, t.s if t.b else t.k, t.k if t.n > 0 else "c", t.b),
    "numbers": lambda t: Base(
        t.n**2 + (t.n << 3) - (t.n & 5),
        round(t.y) if abs(t.y) < 5 else 2,
        math.sqrt(abs(t.x)) + math.floor(HALF),
        t.x if t.b else 0,
        str(t.n),
        t.k,
        math.isfinite(t.x),
    ),
    "exponentials": lambda t: Base(
        t.i,
        t.n,
        math.exp(t.x) if t.x < 100 else 1.0,
        math.sin(t.y) if math.isfinite(t.y) else math.pi,
        f"{t.y:.3f}",
        t.k,
        t.b,
    ),
    "int_for_float": lambda t: {"i": t.i, "n": t.n, "x": t.n, "y": t.i, "s": t.s, "k": t.k, "b": t.b},
    "calls": lambda t: Base(t.i, readable_helper(t), t.x, max(t.x, 0), grade(t.x, low=-1.0), t.k, t.n > 1),
}

# Maps that read few attributes: the operators before them compute attributes that no operator needs.
NARROW_MAPS: dict[str, RowFunction] = {
    "only_n_and_k": lambda t: Base(t.n, t.n, HALF, 0.25, WORD, t.k, True),
    "only_i": lambda t: Base(t.i, 1, 0.5, HALF, WORD, WORD, t.i > 0),
    "only_x": lambda t: Base(THREE, 1, t.x, t.x, WORD, "b", t.x > 0.0),
    "only_b": lambda t: Base(1 if t.b else 0, 2, 0.5, 1.5, "s", "k", t.b),
    "nothing": lambda t: Base(THREE, 1, 0.5, 1.5, "s", "k", CHOSEN),
}
ANALYZABLE_MAPS |= NARROW_MAPS


def with_try(t: Any) -> dict[str, Any]:
    try:
        ratio = t.x / t.y
    except ZeroDivisionError:
        ratio = -1.0
    return {"i": t.i, "n": t.n, "x": ratio, "y": t.y, "s": t.s, "k": t.k, "b": t.b}


OPAQUE_MAPS: dict[str, RowFunction] = {
    "helper": lambda t: Base(t.i, helper(t), t.x * 2.0, t.y, t.s, t.k, t.n > 1),
    "joined": lambda t: {"i": t.i, "n": t.n, "x": t.x, "y": t.y, "s": "é".join([t.s, t.k]), "k": t.k, "b": t.b},
    "comprehension": lambda t: {name: getattr(t, name) for name in ("b", "k", "s", "y", "x", "n", "i")},
    "namespace": lambda t: SimpleNamespace(i=t.i, n=t.n, x=t.x, y=t.y, s=t.k, k=t.k[:1], b=t.b, more=1),
    "itself": lambda t: t,
    "int_for_some_floats": lambda t: {"i": t.i, "n": t.n, "x": [t.n, t.x][t.b], "y": t.i, "s": t.s, "k": t.k, "b": t.b},
    "with_try": with_try,
}

# Flat maps: none, one, several; returned, yielded; of every kind of result.


def countdown(t: Any) -> Iterator[Any]:
    for step in range(abs(t.n) % 3):
        yield Base(t.i, step, t.x, t.y, t.s, t.k, step == 0)


def as_dicts(t: Any) -> list[dict[str, Any]]:
    one = {"i": t.i, "n": t.n, "x": t.x, "y": t.y, "s": t.s, "k": t.k, "b": t.b}
    return [one, one | {"k": t.s, "y": -t.y}]


FLAT_MAPS: dict[str, RowFunction] = {
    "countdown": countdown,
    "as_dicts": as_dicts,
    "once_if_flag": lambda t: [t] if t.b else [],
    "twice": lambda t: (t, Base(t.i, -t.n, t.y, t.x, t.k, t.s, not t.b)),
    "nothing": lambda t: (),
}

# Splits over three ports

SPLITS: dict[str, RowFunction] = {
    "modulo": lambda t: t.n % 3,
    "choice": lambda t: 0 if t.b else 2,
    "constant": lambda t: 1,
    "overflow_inside": lambda t: (t.i * t.i + t.n) % 3,
    "text": lambda t: len(t.s) % 3,
    "branches": lambda t: 2 if t.k in ("a", "c") else 1 if t.s else t.b + 0,
    "opaque": lambda t: len([t.s]) % 3,
}

# Aggregates by the type of their result. `n` keeps to the small ones.

SMALL_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "count": agg.count(),
    "sum_n": agg.sum("n"),
    "last_n": agg.last("n"),
    "any_n": agg.any("n"),
    "first_n": agg.first("n"),
    "flags": agg.sum(lambda t: 1 if t.b else 0),
    "combined_small": agg.sum("n") - agg.count() * 2,
}
INT_AGGREGATES: dict[str, agg.AggregateExpr] = {
    **SMALL_AGGREGATES,
    "min_i": agg.min("i"),
    "max_i": agg.max("i"),
    "first_i": agg.first("i"),
    "last_i": agg.last("i"),
    "max_modulo": agg.max(lambda t: t.i % 3),
    "sum_modulo": agg.sum(lambda t: t.i % 1000),
    "combined_int": 1 - agg.min("n") + agg.sum(lambda t: t.n * 2),
}
FLOAT_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "sum_x": agg.sum("x"),
    "sum_y": agg.sum("y"),
    "mean_x": agg.mean("x"),
    "mean_n": agg.mean("n"),
    "min_x": agg.min("x"),
    "max_x": agg.max("x"),
    "min_y": agg.min("y"),
    "max_y": agg.max("y"),
    "first_x": agg.first("x"),
    "last_y": agg.last("y"),
    "any_y": agg.any("y"),
    "sum_product": agg.sum(lambda t: t.x * t.y) / agg.count(),
    "sum_guarded": agg.sum(lambda t: t.x if t.b else 0.5),
    "range": agg.max("x") - agg.min("x"),
    "scaled": 2.5 * agg.sum("y") - 1,
    "ratio": agg.sum("n") / agg.count(),
    "huge_ratio": agg.max("i") / agg.count(),  # beyond 2**53 the kernel must leave it to Python
    "huge_ratio_of_first": 3 / (agg.count() * 2) + agg.first("i") / 7,
    "huge_last": agg.last("i") / 3,
    "huge_least": 0.5 - agg.min("i") / agg.count(),
    "under_one": 1 / agg.count() + agg.sum("x"),
    "max_abs": agg.max(lambda t: abs(t.y)),
    "min_int_and_float": agg.min(lambda t: t.x - t.i),
}
TEXT_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "any_k": agg.any("k"),
    "any_s": agg.any("s"),
    "first_k": agg.first("k"),
    "first_s": agg.first("s"),
    "last_s": agg.last("s"),
    "min_s": agg.min("s"),
    "max_k": agg.max("k"),
}
FLAG_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "any_b": agg.any("b"),
    "first_b": agg.first("b"),
    "first_test": agg.first(lambda t: t.x > t.y),
    "last_test": agg.last(lambda t: t.k == "a"),
}
# Aggregates that read nothing but n and k.
NARROW_AGGREGATES = {
    "i": ("count", "sum_n"),
    "n": ("count", "last_n"),
    "x": ("mean_n", "ratio"),
    "y": ("ratio", "mean_n"),
    "s": ("any_k",),
    "k": ("any_k", "first_k"),
    "b": ("last_test",),
}
KEY_AGGREGATES = {name: agg.any(name) for name in ("i", "n", "x", "y", "s", "k", "b")}

# Joins: what the right side is renamed to, and how the joined tuple becomes a `Base` again.

BACK_WITH_RIGHT: RowFunction = lambda t: {
    "i": t.ri,
    "n": t.n,
    "x": t.x + t.rx,
    "y": t.y,
    "s": t.rs,
    "k": t.k,
    "b": t.b,
}
BACK_WITHOUT_RIGHT: RowFunction = lambda t: Base(t.i, t.n, t.x, t.y, t.s, t.k, t.b)
BACK_OPAQUE: RowFunction = lambda t: Base(t.i + 0 if t.b else t.ri, helper(t), t.rx, t.y, t.rs, t.k, t.b)


@dataclass(frozen=True)
class JoinKind:
    on: tuple[str, ...]
    right: RowFunction
    back: RowFunction


_BY_K: RowFunction = lambda t: {"k": t.k, "ri": t.i, "rx": t.x, "rs": t.s}
_BY_N: RowFunction = lambda t: {"ri": t.i, "n": t.n, "rx": t.y, "rs": t.k}
_BY_Y: RowFunction = lambda t: {"ri": t.i - t.i % 2, "rx": t.x, "y": t.y, "rs": t.s}
_BY_K_N: RowFunction = lambda t: {"n": t.n, "k": t.k, "ri": t.n, "rx": t.x, "rs": WORD}
_BY_B_Y: RowFunction = lambda t: {"b": t.b, "y": t.y, "ri": t.i, "rx": HALF, "rs": t.s}
_KEY_ONLY: RowFunction = lambda t: {"k": t.k}

JOINS: dict[str, JoinKind] = {
    "by_k": JoinKind(("k",), _BY_K, BACK_WITH_RIGHT),
    "by_k_dead_right": JoinKind(("k",), _BY_K, BACK_WITHOUT_RIGHT),
    "by_k_opaque": JoinKind(("k",), _BY_K, BACK_OPAQUE),
    "by_n": JoinKind(("n",), _BY_N, BACK_WITH_RIGHT),
    "by_y": JoinKind(("y",), _BY_Y, BACK_WITH_RIGHT),
    "by_k_n": JoinKind(("k", "n"), _BY_K_N, BACK_WITH_RIGHT),
    "by_b_y": JoinKind(("b", "y"), _BY_B_Y, BACK_OPAQUE),
    "key_only": JoinKind(("k",), _KEY_ONLY, BACK_WITHOUT_RIGHT),
}
# The right side as an aggregate that forwards its key: then join and aggregate can share a stage.
RIGHT_AGGREGATES = {"ri": agg.max("i"), "rx": agg.sum("x"), "rs": agg.first("s")}

# Functions that fail for some tuples.


def raise_on_word(t: Any) -> bool:
    if t.k == "b":
        raise ValueError(f"no {t.s!r}")
    return bool(t.n < 4)


def fail_midway(t: Any) -> Iterator[Any]:
    yield t
    yield Base(t.i, 6 // t.n, t.x, t.y, t.s, t.k, t.b)


def unused_quotient(t: Any) -> bool:
    share = t.x / t.y
    if t.n > 2:
        return True
    return bool(share != 0.5)


FAILING_PREDICATES: dict[str, RowFunction] = {
    "zero_int_divisor": lambda t: 10 // t.n > 1,
    "zero_modulus": lambda t: t.i % t.n == 0,
    "zero_float_divisor": lambda t: t.x / t.y > 0.5,
    "raises": raise_on_word,
    "unused_quotient": unused_quotient,
    "letter": lambda t: t.k[0] != "b",
    "logarithm": lambda t: math.log(t.n + 1) < 1.0,
    "method": lambda t: methodcaller("doubled")(t) > 1.0,  # only tuples of a declared type have methods
}
FAILING_MAPS: dict[str, RowFunction] = {
    "overflow": lambda t: {"i": t.i + 1, "n": t.n, "x": t.x, "y": t.y, "s": t.s, "k": t.k, "b": t.b},
    "overflow_product": lambda t: Base(t.i * 2, t.n, t.x, t.y, t.s, t.k, t.b),
    "zero_divisor": lambda t: Base(t.i, t.n, t.x / t.y, t.y, t.s, t.k, t.b),
    "number_in_branch": lambda t: Base(t.i, int(t.s) if t.k == "b" else 1, t.x, t.y, t.s, t.k, t.b),
    "dead_letter": lambda t: Base(ord(t.k[:1]), t.n, t.x, t.y, t.k[-1], t.k, t.b),
    "whole": lambda t: Base(int(t.x / t.n), math.floor(t.y) % 5, t.x, t.y, t.s, t.k, t.b),
    "power": lambda t: Base(t.i**2, t.n, t.x**t.y, 1 << t.n, t.s, t.k, t.b),
    "dead_division": lambda t: Base(10 // t.n, t.n, t.x, t.y, t.s, t.k, t.b),
    "wrong_type": lambda t: (
        {"i": t.i, "n": t.n, "x": str(t.x) if t.n == 2 else 1.0, "y": t.y, "s": t.s} | {"k": t.k, "b": t.b}
    ),
    "missing_attribute": lambda t: {"i": t.i, "n": t.n} if t.k == "b" else t,
    "surrogate": lambda t: Base(t.i, t.n, t.x, t.y, "\ud800" if t.n == 3 else t.s, t.k, t.b),
}
FAILING_FLAT_MAPS: dict[str, RowFunction] = {
    "midway": fail_midway,
    "not_iterable": lambda t: None if t.n == 2 else [t],
    "wrong_type": lambda t: [t, {"i": t.x}] if t.k == "b" else [t],
}
FAILING_SPLITS: dict[str, RowFunction] = {
    "bad_port": lambda t: t.n,
    "not_an_int": lambda t: True if t.n == 2 else abs(t.n) % 3,
    "negative": lambda t: t.n - 1 if t.n < 2 else 0,
}
FAILING_INT_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "overflowing_sum": agg.sum("i"),
    "overflowing_combination": agg.max("i") + agg.count(),
}
FAILING_FLOAT_AGGREGATES: dict[str, agg.AggregateExpr] = {
    "zero_sum": agg.sum("x") / agg.sum("n"),
    "zero_sum_float": agg.sum("x") / agg.sum("y"),
    "failing_argument": agg.sum(lambda t: t.x / t.y),
    "overflowing_argument": agg.max(lambda t: t.i * 2) / 2,
    "zero_modulus": agg.min(lambda t: 5 % t.n) * 1.0,
    "overflow_in_field": (agg.max("i") + agg.count()) / 2,
}


# Sources


class Lookup:
    """A beacon's function: the i-th of some rows. `failing`: not for the rows whose n is 0."""

    def __init__(self, rows: tuple[tuple[Any, ...], ...], *, failing: bool = False) -> None:
        self.rows, self.failing = rows, failing

    def __call__(self, index: int) -> dict[str, Any]:
        row = dict(zip(Base.tuple_type.names, self.rows[index], strict=True))
        if self.failing and row["n"] == 0:
            raise LookupError(f"no tuple {index}")
        return row


class Yielding:
    """A generator function's like: each call begins anew. Tuples, not dicts."""

    def __init__(self, rows: tuple[tuple[Any, ...], ...]) -> None:
        self.rows = rows

    def __call__(self) -> Iterator[Base]:
        return (Base(*row) for row in self.rows)
