"""Reading user functions: the meaning where it can be read, and otherwise the reason why not."""

from __future__ import annotations

import enum
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from math import floor
from typing import Any

import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.properties import functions as pool
from thalweg.errors import GraphError, Where
from thalweg.ir.expr import text
from thalweg.ir.operators import Function, code_fingerprint
from thalweg.ir.sent_code import send_code_of
from thalweg.lang.read_function import read_function

send_code_of(__name__)  # as if this module created an application

LIMIT = 7
WORD = "x"
NOTHING: dict[str, Any] = {}


class Pair(tw.Tuple):
    a: int
    x: float
    s: str
    b: bool

    @property
    def twice(self) -> int:
        return self.a * 2

    def method(self) -> int:
        return self.a


class Out(tw.Tuple):
    a: int
    x: float


def read(function: Callable[[Any], Any]) -> Function:
    return read_function(function, Pair.tuple_type, Where("here.py", 1))


def one_return(t: Any) -> Any:
    """A docstring does not count."""
    return t.a + 1


RATE = 0.5
WORDS = ["x", "y"]
CODES = {3, 1.5, 2.0, "x"}


class Side(enum.Enum):
    BUY = "B"
    SELL = "S"


@dataclass(frozen=True)
class Config:
    limit: int
    words: tuple[str, ...] = ("a", "b")


@dataclass
class Loose:
    limit: int


CONFIG, LOOSE = Config(3), Loose(3)


def scaled(value: float, factor: float = 2.0, *, offset: float = 0.0) -> float:
    return value * factor + offset


def is_far(t: Any) -> Any:
    return t.a > LIMIT and not t.b


def sign(value: float) -> int:
    if value > 0:
        return 1
    elif value < 0:  # noqa: RET505
        return -1
    return 0


def made(t: Any, factor: int) -> Any:
    return {"p": t.a * factor}


def ignores(value: Any) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (lambda t: t.a, ".a"),
        (lambda t: True, "True"),
        (lambda t: t.a + LIMIT * 2, "(+ .a (* 7 2))"),
        (lambda t: -t.x / 2 - -3, "(- (/ (neg .x) 2) -3)"),
        (lambda t: t.a // 2 % 3, "(% (// .a 2) 3)"),
        (lambda t: 0 < t.a <= LIMIT, "(and (< 0 .a) (<= .a 7))"),
        (lambda t: (t.b and t.a > 1) or not t.b, "(or (and .b (> .a 1)) (not .b))"),
        (lambda t: t.a if t.b else 0, "(if .b .a 0)"),
        (lambda t: 1 if t.a > 0 else 0, "(if (> .a 0) 1 0)"),
        (lambda t: t.b if t.a > 0 else t.x == t.x, "(if (> .a 0) .b (== .x .x))"),
        (lambda t: not t.b if t.a < 1 else (t.b or t.a > 1), "(if (< .a 1) (not .b) (or .b (> .a 1)))"),
        (lambda t: abs(t.x) != 1.5, "(!= (abs .x) 1.5)"),
        (lambda t: t.s == WORD, "(== .s 'x')"),
        (lambda t: {"p": t.a, "q": t.s}, "{p: .a, q: .s}"),
        (lambda t: Out(t.a, x=t.x), "{a: .a, x: .x}"),
        (lambda t: Out(x=t.x, a=t.a), "{a: .a, x: .x}"),
        (lambda t: -9223372036854775808, "-9223372036854775808"),
        (one_return, "(+ .a 1)"),
        (lambda t: t.a**2 + t.x**0.5, "(+ (** .a 2) (** .x 0.5))"),
        (lambda t: t.a << 2 & ~t.a | 1 ^ t.a >> 1, "(| (& (<< .a 2) (~ .a)) (^ 1 (>> .a 1)))"),
        (lambda t: t.b + 1, "(+ (int .b) 1)"),
        (lambda t: t.b == 1, "(== (int .b) 1)"),
        (lambda t: +t.b, "(int .b)"),
        (lambda t: min(t.a, 3, LIMIT), "(min (min .a 3) 7)"),
        (lambda t: round(t.x, 2) + round(t.x), "(+ (round .x 2) (round .x))"),
        (lambda t: round(t.a) + round(t.b), "(+ .a (int .b))"),
        (lambda t: int(t.x) + int(t.a) + int(t.s) + int(t.b), "(+ (+ (+ (int .x) .a) (int .s)) (int .b))"),
        (lambda t: float(t.a) + float(t.x) + float(t.s), "(+ (+ (float .a) .x) (float .s))"),
        (lambda t: bool(t.a and t.s), "(and (bool .a) (bool .s))"),
        (lambda t: str(t.a) + str(t.s), "(+ (str .a) .s)"),
        (lambda t: math.sqrt(t.x) * math.pi, "(* (math.sqrt .x) 3.141592653589793)"),
        (lambda t: floor(t.x) + math.ceil(t.a), "(+ (math.floor .x) .a)"),
        (lambda t: t.s.strip().upper().startswith("A"), "(.startswith (.upper (.strip .s)) 'A')"),
        (lambda t: t.s.endswith(("a", WORD)), "(or (.endswith .s 'a') (.endswith .s 'x'))"),
        (lambda t: "abc".find(t.s), "(.find 'abc' .s)"),
        (lambda t: t.s[0] + t.s[1:] + t.s[:-1], "(+ (+ ([a] .s 0) ([a:] .s 1)) ([:b] .s -1))"),
        (lambda t: t.s[::2] + t.s[:None] + t.s[1:3], "(+ (+ ([::c] .s 2) ([:] .s)) ([a:b] .s 1 3))"),
        (lambda t: f"{t.s}-{t.a:03d}!{t.x!r}", "(+ (+ (+ (+ .s '-') (format .a '03d')) '!') (repr .x))"),
        (lambda t: f"", "''"),  # noqa: F541
        (lambda t: t.s in ("a", WORD, 3), "(in .s 'a' 'x')"),
        (lambda t: t.s not in WORDS, "(not (in .s 'x' 'y'))"),
        (lambda t: t.a in CODES, "(in .a 2 3)"),
        (lambda t: t.x in (1, True, 9007199254740993, "x"), "(in .x 1.0)"),
        (lambda t: t.b in [1, 2.5], "(in .b True)"),
        (lambda t: t.a in (), "(before .a False)"),  # noqa: RUF060
        (lambda t: t.s in CONFIG.words, "(in .s 'a' 'b')"),
        (lambda t: "a" in t.s, "(within 'a' .s)"),
        (lambda t: t.s < "m", "(< .s 'm')"),
        (lambda t: t.s or "none", "(if (bool .s) .s 'none')"),
        (lambda t: t.a and 5, "(if (bool .a) 5 .a)"),
        (lambda t: 1 if t.s else 2, "(if (bool .s) 1 2)"),
        (lambda t: not t.a, "(not (bool .a))"),
        (lambda t: t.x if t.b else 0, "(if .b .x (float 0))"),
        (lambda t: 2.0 * max(t.x, 0), "(* 2.0 (max .x 0))"),
        (lambda t: t.a > CONFIG.limit and t.s == Side.BUY.value, "(and (> .a 3) (== .s 'B'))"),
        (lambda t, k=3, *, m=4: t.a + k + m, "(+ (+ .a 3) 4)"),
        (lambda t: scaled(t.x) + scaled(t.x, offset=RATE), "(+ (+ (* .x 2.0) 0.0) (+ (* .x 2.0) 0.5))"),
        (lambda t: is_far(t) or t.b, "(or (and (> .a 7) (not .b)) .b)"),
        (lambda t: sign(t.x), "(if (> .x 0) 1 (if (< .x 0) -1 0))"),
        (lambda t: made(t, 3), "{p: (* .a 3)}"),
        (lambda t: ignores(1 // t.a), "(before (// 1 .a) 1)"),
        (lambda t: Out(t.a, 0.0) if t.b else Out(1, t.x), "{a: (if .b .a 1), x: (if .b 0.0 .x)}"),
    ],
)  # fmt: skip
def test_read(function: Callable[[Any], Any], meaning: str) -> None:
    found = read(function)
    assert found.expr is not None, found.opaque_because
    assert text(found.expr) == meaning


def two_statements(t: Any) -> Any:
    far = t.a > 1
    return far and t.b


def branches(t: Any) -> Any:
    """A docstring does not count."""
    price: float = t.x
    if t.b:
        price *= 2
    elif t.a > 3:
        price, unused = t.x + 1, t.a  # noqa: F841
    else:
        pass
    return {"price": price, "word": "x"}


def early(t: Any) -> Any:
    if not t.a:
        return 0.0
    rate = t.x / t.a
    if rate > 1.0:
        return rate
    return 1.0


def evaluated_although_not_used(t: Any) -> Any:
    rate = t.x / t.a
    if t.b:
        return 1.0
    return rate


def in_a_branch_only(t: Any) -> Any:
    if t.b:
        unused = 1 // t.a  # noqa: F841
    return t.a


def read_but_not_used(t: Any) -> Any:
    a, x = t.a, t.x  # noqa: F841
    return Out(a, 1.0)


def constant_test(t: Any) -> Any:
    if WORD:
        return t.a
    return t.s


def alias(t: Any) -> Any:
    row, words = t, ("a", "b")
    return row.s in words


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        (two_statements, "(and (> .a 1) .b)"),
        (branches, "{price: (if .b (* .x 2) (if (> .a 3) (+ .x 1) .x)), word: 'x'}"),
        (early, "(if (not (bool .a)) 0.0 (if (> (/ .x .a) 1.0) (/ .x .a) 1.0))"),
        (evaluated_although_not_used, "(before (/ .x .a) (if .b 1.0 (/ .x .a)))"),
        (in_a_branch_only, "(before (if .b (before (// 1 .a) True) True) .a)"),
        (read_but_not_used, "{a: .a, x: (before .x 1.0)}"),
        (constant_test, ".a"),
        (alias, "(in .s 'a' 'b')"),
    ],
)
def test_statements(function: Callable[[Any], Any], meaning: str) -> None:
    found = read(function)
    assert found.expr is not None, found.opaque_because
    assert text(found.expr) == meaning


def generator(t: Any) -> Any:
    yield t.a


class Callable_:  # noqa: N801
    def __call__(self, t: Any) -> Any:
        return t.a


def shadowed(abs: Any) -> Callable[[Any], Any]:
    return lambda t: abs(t.a)


def recursive(t: Any) -> Any:
    return t.a if t.b else recursive(t)


def loop(t: Any) -> Any:
    total = 0
    for _ in range(3):
        total += t.a
    return total


def no_end(t: Any) -> Any:  # noqa: RET503
    if t.b:
        return t.a


def half_assigned(t: Any) -> Any:
    if t.b:
        found = 1
    return found


def two_types(t: Any) -> Any:
    if t.b:
        return {"p": t.a}
    return {"q": t.a}


def doubling(t: Any) -> Any:
    x = t.x
    x = x * x + x * x * x
    x = x * x + x * x * x
    x = x * x + x * x * x
    x = x * x + x * x * x
    x = x * x + x * x * x
    x = x * x + x * x * x
    return x  # noqa: RET504


def rounded_weakly(t: Any) -> Any:
    return (t.x if t.b else 0) // 2


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (generator, "it is a generator"),
        (lambda t, u: t.a, "it takes more than one tuple"),
        (lambda: 1, "it does not take a tuple"),
        (lambda t, *, k: t.a, "it takes more than one tuple"),
        (lambda *t: 1, "it takes a variable number of arguments"),
        (Callable_(), "Callable_ is not a plain function"),
        (len, "builtin_function_or_method is not a plain function"),
        (eval("lambda t: t.a"), "its source is not available"),
        (lambda t: hash(t.s), "it uses `hash(t.s)`"),
        (lambda t: t.method(), "it uses method"),
        (lambda t: t.twice > 1, "it uses twice"),
        (lambda t: t.a**t.a, "needs a constant exponent"),
        (lambda t: t.a**-1, "needs a constant exponent"),
        (lambda t: t.s in (t.s, "a"), "it uses `t.s` in a collection"),
        (lambda t: t.x in (1.0, math.nan), "it looks for NaN"),
        (lambda t: t.s + 1, "`+` on str, int is not vectorized"),
        (lambda t: t.s.split(","), "`.split` on str, str is not vectorized"),
        (lambda t: t.a and t.b, "`if` on bool and int is not vectorized"),
        (rounded_weakly, "an int in some tuples and a float in others"),
        (lambda t: str(min(t.x, 1)), "an int in some tuples and a float in others"),
        (lambda t: t.a + 9223372036854775808, "which is not a 64-bit int"),
        (lambda t: t.s == "\ud800", "which has no encoding"),
        (lambda t: t.a == None, "it uses None, which is not a 64-bit int"),  # noqa: E711
        (lambda t: {"a": t.a, **NOTHING}, "an output attribute's name is not a literal"),
        (lambda t: {"a": t.a, "a": 1}, "an output attribute is given twice"),  # noqa: F601
        (lambda t: Out(t.a), "it does not give each attribute of Out exactly once"),
        (lambda t: Out(*t), "it unpacks arguments"),
        (lambda t: t, "it uses `t`"),
        (lambda t: t.a > LOOSE.limit, "it uses limit of a captured Loose"),
        (lambda t: [t.a for _ in ()], "it uses `[t.a for _ in ()]`"),
        (lambda t: int("ff", 16), "`int` on str, int is not vectorized"),
        (lambda t: max(t.a, key=None), "it uses `max(t.a, key=None)`"),
        (shadowed(len), "`len` on int is not vectorized"),
        (recursive, "it calls recursive recursively"),
        (
            lambda t: scaled(t.x, factors=2),  # type: ignore[call-arg]
            "with arguments that do not match its declaration",
        ),
        (lambda t: loop(t), "it calls loop: it uses `for _ in range(3):`"),
        (no_end, "it may end without a return"),
        (half_assigned, "found may be unassigned"),
        (two_types, "its branches return different attributes"),
        (doubling, "it is too long"),
    ],
)
def test_opaque_with_its_reason(function: Callable[[Any], Any], reason: str) -> None:
    found = read(function)
    assert found.expr is None
    assert reason in (found.opaque_because or "")


def meaning_of(function: Function) -> str:
    assert function.expr is not None, function.opaque_because
    return text(function.expr)


def test_lambdas_on_one_line_are_distinguished() -> None:
    first, second = (lambda t: t.a + 1), (lambda t: t.a + 2)
    assert [meaning_of(read(f)) for f in (first, second)] == ["(+ .a 1)", "(+ .a 2)"]


def test_lambdas_in_lambdas_are_distinguished() -> None:
    outer: Callable[[Any], Callable[[Any], Any]] = lambda u: lambda t: t.a + u
    assert meaning_of(read(outer(5))) == "(+ .a 5)"
    assert read(outer).opaque_because == "it uses `lambda t: t.a + u`"


def test_only_the_truth_of_a_predicate_counts() -> None:
    found = read_function(lambda t: t.a and (t.s or t.x), Pair.tuple_type, Where("here.py", 1), as_truth=True)
    assert meaning_of(found) == "(and (bool .a) (or (bool .s) (bool .x)))"


def test_captured_values_are_those_of_the_moment() -> None:
    """The kernel was made from today's value; the row path must not see tomorrow's."""
    made = [read(lambda t: t.a > limit) for limit in range(3)]
    assert [meaning_of(f) for f in made] == ["(> .a 0)", "(> .a 1)", "(> .a 2)"]
    assert [f.callable(Pair(1, 0.0, "", True)) for f in made] == [True, False, False]


def test_a_global_that_changes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(lambda t: t.a > LIMIT)
    monkeypatch.setitem(globals(), "LIMIT", 100)
    assert found.callable(Pair(8, 0.0, "", True)) is True


def test_a_captured_list_that_grows_later() -> None:
    words = ["x"]
    found = read(lambda t: t.s in words)
    words.append("y")
    assert [found.callable(Pair(1, 0.0, s, True)) for s in ("x", "y")] == [True, False]


def test_what_a_helper_captured_is_frozen_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(lambda t: is_far(t))
    monkeypatch.setitem(globals(), "LIMIT", 100)
    assert found.callable(Pair(8, 0.0, "", False)) is True
    again = pickle.loads(cloudpickle.dumps(found.callable))
    assert again(Pair(8, 0.0, "", False)) is True


def test_a_frozen_function_keeps_its_defaults() -> None:
    function: Any = lambda t, k=3, *, m=4: t.a + k + m
    found = read(function)
    assert found.callable(Pair(1, 0.0, "", True)) == 8


def test_a_frozen_function_travels_to_a_worker() -> None:
    """Spark's pickler takes it by value, with the captured values only."""
    limit = 5
    found = read(lambda t: t.a > limit and t.s == WORD)
    again = pickle.loads(cloudpickle.dumps(found.callable))
    assert again(Pair(6, 0.0, "x", True)) is True
    assert again(Pair(5, 0.0, "x", True)) is False


def test_unknown_attribute_at_the_functions_own_line() -> None:
    with pytest.raises(GraphError, match="unknown attribute aa") as error:
        read(lambda t: t.aa > 1)
    assert error.value.where is not None
    assert error.value.where.file == __file__
    with open(__file__) as lines:
        assert "t.aa > 1" in lines.readlines()[error.value.where.line - 1]


def test_the_random_graphs_have_functions_of_both_kinds() -> None:
    """What the property test calls analyzable must be, or it would test the row path only."""
    base = pool.Base.tuple_type

    def opaque(table: dict[str, Callable[[Any], Any]], *, as_truth: bool = False) -> list[str]:
        found = {n: read_function(f, base, Where("pool", 1), as_truth=as_truth) for n, f in table.items()}
        return [n for n, function in found.items() if function.expr is None]

    assert opaque(pool.ANALYZABLE_MAPS) == []
    assert opaque(pool.ANALYZABLE_PREDICATES, as_truth=True) == []
    assert opaque(pool.SPLITS) == ["opaque"]
    assert opaque(pool.OPAQUE_MAPS) == list(pool.OPAQUE_MAPS)
    assert opaque(pool.OPAQUE_PREDICATES, as_truth=True) == list(pool.OPAQUE_PREDICATES)


def test_a_fingerprint_follows_the_code() -> None:
    """Sets of constants are stored in an order that changes from process to process."""
    first = code_fingerprint(lambda t: t.s in {"a", "b", "c", "d", "e"})
    assert first == code_fingerprint(lambda t: t.s in {"e", "d", "c", "b", "a"})
    assert first != code_fingerprint(lambda t: t.s in {"a", "b", "c", "d", "f"})
    assert code_fingerprint(lambda t: [x for x in t.s]) != code_fingerprint(lambda t: [x + "" for x in t.s])  # noqa: C416
