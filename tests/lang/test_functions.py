"""Reading user functions: the meaning where it can be read, and otherwise the reason why not."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pyspark import cloudpickle

import thalweg as tw
from tests.properties import functions as pool
from thalweg.errors import GraphError, Where
from thalweg.ir.expr import text
from thalweg.ir.operators import Function, code_fingerprint
from thalweg.lang.functions import read_function

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
    ],
)
def test_read(function: Callable[[Any], Any], meaning: str) -> None:
    found = read(function)
    assert found.expr is not None, found.opaque_because
    assert text(found.expr) == meaning


def two_statements(t: Any) -> Any:
    far = t.a > 1
    return far and t.b


def generator(t: Any) -> Any:
    yield t.a


abs_of_mine = lambda value: value


class Callable_:  # noqa: N801
    def __call__(self, t: Any) -> Any:
        return t.a


def shadowed(abs: Any) -> Callable[[Any], Any]:
    return lambda t: abs(t.a)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (two_statements, "it is more than one return statement"),
        (generator, "it does not take exactly one tuple"),
        (lambda t, u=1: t.a, "it does not take exactly one tuple"),
        (lambda t, *, k=1: t.a, "it does not take exactly one tuple"),
        (lambda *t: 1, "it does not take exactly one tuple"),
        (Callable_(), "Callable_ is not a plain function"),
        (len, "builtin_function_or_method is not a plain function"),
        (eval("lambda t: t.a"), "its source is not at hand"),
        (lambda t: len(t.s), "it uses `len(t.s)`"),
        (lambda t: t.method(), "it uses `t.method()`"),
        (lambda t: t.twice > 1, "it uses twice"),
        (lambda t: t.a**2, "it uses `t.a ** 2`"),
        (lambda t: t.s in ("a",), "it uses `In`"),
        (lambda t: t.s + "a", "`+` on str, str is not vectorized"),
        (lambda t: t.s < "a", "`<` on str, str is not vectorized"),
        (lambda t: t.a and t.b, "`and` on int, bool is not vectorized"),
        (lambda t: t.a if t.b else t.x, "`if` on bool, int, float is not vectorized"),
        (lambda t: t.x // 2.0, "`//` on float, float is not vectorized"),
        (lambda t: t.a + 9223372036854775808, "which is no 64-bit int"),
        (lambda t: t.s == "\ud800", "which has no encoding"),
        (lambda t: t.a == None, "it uses None, which is no 64-bit int"),  # noqa: E711
        (lambda t: {"a": t.a, **NOTHING}, "an output attribute's name is not a literal"),
        (lambda t: {"a": t.a, "a": 1}, "an output attribute stands there twice"),  # noqa: F601
        (lambda t: Out(t.a), "it does not give each attribute of Out once"),
        (lambda t: Out(*t), "it unpacks arguments"),
        (lambda t: t, "it uses `t`"),
        (shadowed(len), "it uses `abs(t.a)`"),
    ],
)
def test_opaque_with_its_reason(function: Callable[[Any], Any], reason: str) -> None:
    found = read(function)
    assert found.expr is None
    assert reason in (found.opaque_because or "")


def meaning_of(function: Function) -> str:
    assert function.expr is not None, function.opaque_because
    return text(function.expr)


def test_lambdas_on_one_line_are_told_apart() -> None:
    first, second = (lambda t: t.a + 1), (lambda t: t.a + 2)
    assert [meaning_of(read(f)) for f in (first, second)] == ["(+ .a 1)", "(+ .a 2)"]


def test_lambdas_in_lambdas_are_told_apart() -> None:
    outer: Callable[[Any], Callable[[Any], Any]] = lambda u: lambda t: t.a + u
    assert meaning_of(read(outer(5))) == "(+ .a 5)"
    assert read(outer).opaque_because == "it uses `lambda t: t.a + u`"


def test_captured_values_are_those_of_the_moment() -> None:
    """The kernel was made from today's value; the row path must not see tomorrow's."""
    made = [read(lambda t: t.a > limit) for limit in range(3)]
    assert [meaning_of(f) for f in made] == ["(> .a 0)", "(> .a 1)", "(> .a 2)"]
    assert [f.callable(Pair(1, 0.0, "", True)) for f in made] == [True, False, False]


def test_a_global_that_changes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(lambda t: t.a > LIMIT)
    monkeypatch.setitem(globals(), "LIMIT", 100)
    assert found.callable(Pair(8, 0.0, "", True)) is True


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

    def opaque(table: dict[str, Callable[[Any], Any]]) -> list[str]:
        return [n for n, f in table.items() if read_function(f, base, Where("pool", 1)).expr is None]

    assert opaque(pool.ANALYZABLE_MAPS) == []
    assert opaque(pool.ANALYZABLE_PREDICATES) == []
    assert opaque(pool.SPLITS) == ["opaque"]
    assert set(opaque(pool.OPAQUE_MAPS)) == set(pool.OPAQUE_MAPS) - {"int_for_float"}
    assert set(opaque(pool.OPAQUE_PREDICATES)) == set(pool.OPAQUE_PREDICATES) - {"truth_of_text", "truth_of_int"}


def test_a_fingerprint_follows_the_code() -> None:
    """Sets of constants are stored in an order that changes from process to process."""
    first = code_fingerprint(lambda t: t.s in {"a", "b", "c", "d", "e"})
    assert first == code_fingerprint(lambda t: t.s in {"e", "d", "c", "b", "a"})
    assert first != code_fingerprint(lambda t: t.s in {"a", "b", "c", "d", "f"})
    assert code_fingerprint(lambda t: [x for x in t.s]) != code_fingerprint(lambda t: [x + "" for x in t.s])  # noqa: C416
