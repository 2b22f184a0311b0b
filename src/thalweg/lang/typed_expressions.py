"""Build expressions from operands, with Python's rules for their types. An operation without a rule is `Opaque`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from thalweg.errors import redacted, shown
from thalweg.ir.expr import Apply, Attr, Const, Expr, Record, apply, can_raise, reads, text
from thalweg.ir.types import BOOL, FLOAT, INT, INT64_MAX, INT64_MIN, STR, AttributeType
from thalweg.lang.captures import Opaque
from thalweg.lang.tuples import Tuple

MAX_STEPS = 5000  # of reading
MAX_SIZE = 1500  # operations in one expression: locals that are used twice double it
_TYPES: dict[type, AttributeType] = {int: INT, float: FLOAT, str: STR, bool: BOOL}

Value = Expr | Record


class Typed:
    """Makes expressions, and records which of them are an int in some rows and a float in others.

    `t.x if t.b else 0` is an example. As an attribute of the output it becomes a float, as in Python's typing. The
    results of other operations may differ, so only `+ - * /` with a float are allowed on it.
    """

    def __init__(self) -> None:
        self.weak: set[Expr] = set()
        self.made: set[type[Tuple]] = set()  # the classes of the tuples that are made
        self._steps = 0
        self._sizes: dict[int, tuple[Expr, int]] = {}  # by identity; holds the expression, so that its id is not reused

    def step(self) -> None:
        """Counts the expressions that were read: functions that call functions multiply them."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Opaque("it is too long")

    def known(self, op: str, *operands: Expr) -> Expr:
        if any(o in self.weak for o in operands) and not (
            op in ("bool", "before")
            or (op in ("+", "-", "*", "/") and any(o.type is FLOAT and o not in self.weak for o in operands))
        ):
            raise Opaque(f"`{op}` on an int in some tuples and a float in others is not vectorized")
        if op == "**" and operands[1].type is not FLOAT and operands[0].type is not FLOAT:
            exponent = operands[1]
            if not isinstance(exponent, Const) or type(exponent.value) is not int or not 0 <= exponent.value <= 64:
                raise Opaque("`**` on ints needs a constant exponent in 0..64")
        found = apply(op, *operands)
        if found is None:
            raise Opaque(f"`{op}` on {', '.join(str(o.type) for o in operands)} is not vectorized")
        if self._size(found) > MAX_SIZE:
            raise Opaque("it is too long")
        mixed = op in ("min", "max") and found.type is FLOAT and any(o.type is INT for o in operands)
        if mixed or (op == "before" and operands[-1] in self.weak):
            self.weak.add(found)
        return found

    def fold(self, op: str, operands: Iterable[Expr]) -> Expr:
        first, *others = operands
        for operand in others:
            first = self.known(op, first, operand)
        return first

    def truth(self, expr: Expr) -> Expr:
        if isinstance(expr, Const):
            return Const(bool(expr.value), BOOL)
        return expr if expr.type is BOOL else self.known("bool", expr)

    def choose(self, test: Expr, a: Value, b: Value) -> Value:
        """`a if test else b`; of two tuples, attribute by attribute."""
        if isinstance(test, Const):
            return a if test.value else b
        if isinstance(a, Record) and isinstance(b, Record):
            others = dict(b.fields)
            if {name for name, _ in a.fields} != others.keys():
                raise Opaque("its branches return different attributes")
            return Record(tuple((name, self.either(test, field, others[name])) for name, field in a.fields))
        if isinstance(a, Record) or isinstance(b, Record):
            raise Opaque("only one of its branches returns a tuple")
        return self.either(test, a, b)

    def either(self, test: Expr, a: Expr, b: Expr) -> Expr:
        weak = a in self.weak or b in self.weak or {a.type, b.type} == {INT, FLOAT}
        if {a.type, b.type} == {INT, FLOAT}:
            a, b = (self.known("float", e) if e.type is INT else e for e in (a, b))
        found = apply("if", test, a, b)
        if found is None:
            raise Opaque(f"`if` on {a.type} and {b.type} is not vectorized")
        if self._size(found) > MAX_SIZE:
            raise Opaque("it is too long")
        if weak:
            self.weak.add(found)
        return found

    def after(self, evaluated: Iterable[Expr], result: Value) -> Value:
        """The result, with the expressions that Python evaluates before it although the result may not need them.

        They may raise, and the row path, which calls the complete function, must find the attributes that they read.
        """
        for expr in reversed(list(evaluated)):
            needed = text(expr) not in _always(result) if can_raise(expr) else not reads(expr) <= reads(result)
            if needed:
                result = self._before(expr, result)
        return result

    def _before(self, expr: Expr, result: Value) -> Value:
        if isinstance(result, Expr):
            return self.known("before", expr, result)
        if not result.fields:
            raise Opaque("it returns no attributes")
        # An attribute that is only forwarded stays unchanged, if there is another one: a key may depend on it.
        at = next((i for i, (_, field) in enumerate(result.fields) if not isinstance(field, Attr)), 0)
        fields = list(result.fields)
        fields[at] = (fields[at][0], self.known("before", expr, fields[at][1]))
        return Record(tuple(fields))

    def among(self, expr: Expr, values: Iterable[Any]) -> Expr:
        """`expr in values` for constants: only those that can be equal to it, as values of its type."""
        equal = [v for value in values for v in _as_type(value, expr.type)]
        distinct = {repr(v): v for v in equal}
        if not distinct:
            return self.known("before", expr, Const(False, BOOL))
        return self.known("in", expr, *(Const(v, expr.type) for v in distinct.values()))

    def _size(self, expr: Expr) -> int:
        if not isinstance(expr, Apply):
            return 1
        if id(expr) not in self._sizes:
            self._sizes[id(expr)] = expr, 1 + sum(self._size(operand) for operand in expr.operands)
        return self._sizes[id(expr)][1]


def _always(value: Value) -> set[str]:
    """The operations that are evaluated in every row."""
    match value:
        case Record(fields):
            return set().union(*(_always(field) for _, field in fields))
        case Apply("if", (test, a, b)):
            return {text(value)} | _always(test) | (_always(a) & _always(b))
        case Apply("and" | "or", (a, _)):
            return {text(value)} | _always(a)
        case Apply(_, operands):
            return {text(value)}.union(*map(_always, operands))
    return set()


def _as_type(value: Any, kind: AttributeType) -> list[Any]:
    """The value of this type that equals the constant, if there is one."""
    if constant(value).type is STR or kind is STR:
        return [value] if constant(value).type is kind else []
    if math.isnan(value):
        raise Opaque("it looks for NaN, which is found by identity only")
    if kind is FLOAT:
        return [float(value)] if float(value) == value else []
    whole = math.isfinite(value) and int(value) == value and (kind is not BOOL or value in (0, 1))
    if not whole or not INT64_MIN <= value <= INT64_MAX:
        return []
    return [bool(value)] if kind is BOOL else [int(value)]


def constant(value: object) -> Const:
    kind = _TYPES.get(type(value))
    if kind is None or (type(value) is int and not INT64_MIN <= value <= INT64_MAX):
        raise Opaque(f"it uses {shown(value)}, which is not a 64-bit int, float, str or bool")
    assert isinstance(value, int | float | str)
    if isinstance(value, str) and redacted(value) != value:
        raise Opaque("it uses a string that contains a secret")  # as a constant it would be in every plan
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise Opaque(f"it uses {value!r}, which has no encoding")
    return Const(value, kind)
