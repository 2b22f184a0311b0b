"""Handlers of syntax nodes, each alone."""

from __future__ import annotations

import ast

import pytest

from tests.analysis.program.machines import PLACE, ROW, effects, evaluate, kinds, machine, run, variable
from thalweg.analysis.program.abstract_values import INT, STR, UNKNOWN, New, only
from thalweg.analysis.program.contents import length
from thalweg.analysis.program.limits import Limits, TooLong
from thalweg.analysis.program.memory import KEYS

EXPRESSIONS = [
    ("1", {"1"}),
    ("t.a", {"t.a"}),
    ("t", {"InputTuple"}),
    ("t.k.upper", {"Method"}),
    ("n + 1", {"some int"}),
    ("n / 2", {"some float"}),
    ("n ** 2", {"some PLAIN"}),
    ("t.k + 'x'", {"some str"}),
    ("[n] + [n]", {"some PLAIN", "new list"}),
    ("-1", {"-1"}),
    ("-n", {"some PLAIN"}),
    ("not 0", {"True"}),
    ("not n", {"some bool"}),
    ("n and 'x'", {"some int", "'x'"}),
    ("1 == 1", {"True"}),
    ("1 < n < 3", {"some bool"}),
    ("'a' if n else 'b'", {"'a'", "'b'"}),
    ("'a' if 1 else 'b'", {"'a'"}),
    ("(1, 'x')[1]", {"'x'"}),
    ("{'k': t.a}['k']", {"t.a"}),
    ("t.v[0]", {"Given"}),
    ("t.v[1:]", {"new list"}),
    ("f'{n:>3}'", {"some str"}),
    ("(x := n)", {"some int"}),
    ("[*t.v]", {"new list"}),
    ("{n}", {"new set"}),
    ("{'a': 1, **d}", {"new dict"}),
    ("[x for x in t.v]", {"new list"}),
    ("{x: 1 for x in t.v}", {"new dict"}),
    ("(x for x in t.v)", {"new list_iterator"}),
    ("lambda x: x", {"Func"}),
    ("(lambda x: x)(n)", {"some int"}),
    ("(lambda x, y='d', *z, **w: y)(n)", {"'d'"}),
    ("undefined_name", {"Anything"}),
]


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS)
def test_expressions(text: str, expected: set[str]) -> None:
    m = machine(t=ROW, n=INT, d=UNKNOWN, assigned=frozenset("x"))
    assert kinds(evaluate(m, text)) == expected


def test_an_expression_notes_the_attributes_that_it_reads() -> None:
    m = machine(t=ROW)
    evaluate(m, "t.a + len(t.k)")
    assert m.notes.reads == {0: {"a", "k"}}


def test_what_is_not_understood_is_an_unknown_call() -> None:
    m = machine()
    assert kinds(m.evaluate(ast.Await(ast.Name("n")))) == {"Anything"}
    assert effects(m) == ["unknown_call: uses `await n`"]


STATEMENTS = [
    ("x = 1", {"1"}),
    ("x, y = 1, 2", {"1"}),
    ("y, *x = t.v", {"new list"}),
    ("x: int = n", {"some int"}),
    ("x = 1\nx += n", {"some int"}),
    ("x = 1\nif n:\n    x = 2", {"1", "2"}),
    ("x = 1\nif 0:\n    x = 2", {"1"}),
    ("x = 1\nfor y in t.v:\n    x = 'a'", {"1", "'a'"}),
    ("x = 1\nfor y in t.v:\n    x = 2\n    break\nelse:\n    x = 3", {"2", "3"}),
    ("x = 1\nwhile n:\n    x = 2", {"1", "2"}),
    ("while True:\n    x = 2\n    break", {"2"}),
    ("x = 1\ntry:\n    x = 2\nexcept ValueError:\n    pass", {"1", "2"}),
    ("x = 1\ntry:\n    x = 2\nfinally:\n    x = 3", {"3"}),
    ("x = 1\nmatch n:\n    case 1:\n        x = 2\n    case _:\n        x = 3", {"2", "3"}),
    ("match n:\n    case x:\n        pass", {"some int"}),
    ("match {'k': 1}:\n    case {'k': x}:\n        pass", {"1"}),
    ("x = 1\nassert n, 'm'", {"1"}),
    ("x = 1\ndel x", set()),
]


@pytest.mark.parametrize(("text", "expected"), STATEMENTS)
def test_statements(text: str, expected: set[str]) -> None:
    assert kinds(variable(run(text, t=ROW, n=INT), "x")) == expected


@pytest.mark.parametrize("text", ["raise ValueError", "return 1", "while True:\n    pass"])
def test_no_path_continues(text: str) -> None:
    assert run(text).store is None


def test_a_return_is_kept_with_its_path() -> None:
    m = run("return n", n=INT)
    assert [value for value, _ in m.frame.returns] == [INT]


LENGTHS = [
    ("x = []", (0, 0)),
    ("x = [1, n]", (2, 2)),
    ("x = [1]\nif n:\n    x.append(2)", (1, 2)),
    ("x = [1]\nfor y in t.v:\n    x.append(2)", (1, None)),
    ("x = [1, 2]\nx.pop()", (1, 1)),
    ("x = [y for y in (1, 2, 3) if n]", (0, 3)),
    ("x = list(map(str, (1, 2)))", (2, 2)),
]


@pytest.mark.parametrize(("text", "expected"), LENGTHS)
def test_lengths(text: str, expected: tuple[int, int | None]) -> None:
    m = run(text, t=ROW, n=INT)
    assert length(m, variable(m, "x")) == expected


def test_a_dict_display_knows_its_fields() -> None:
    m = machine(t=ROW)
    item = only(evaluate(m, "{'k': t.k, 'a': 1}"))
    assert isinstance(item, New)
    assert m.store is not None
    assert {name: kinds(value) for name, value in (m.store.fields(item) or {}).items()} == {"k": {"t.k"}, "a": {"1"}}
    assert kinds(m.memory.get(item, KEYS)) == {"'k'", "'a'"}


def test_too_many_steps() -> None:
    m = machine(Limits(steps=3), n=INT)
    with pytest.raises(TooLong):
        evaluate(m, "n + n + n")


def test_too_many_turns() -> None:
    m = run("x = 1\nfor y in t.v:\n    x = 2", t=ROW)
    assert effects(m) == []
    m = machine(Limits(turns=1), t=ROW, x=STR, y=INT)
    m.run(ast.parse("for y in t.v:\n    x = 2").body)
    assert effects(m) == ["unknown_call: has a loop that is too complex to analyze"]


def test_a_reason_names_the_line() -> None:
    m = machine(n=INT)
    m.unknown("text", PLACE)
    (effect,) = m.notes.effects
    assert (effect.reason.where.file, effect.reason.where.line) == ("app.py", 7)
