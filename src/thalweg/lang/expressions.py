"""Expressions of a function that is read: operators, attributes, constants, built-in functions and methods."""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Mapping
from typing import Any

from thalweg.errors import Where
from thalweg.ir.expr import Attr, Const, Expr, Record
from thalweg.ir.types import BOOL, FLOAT, INT, STR, TupleType, unknown_attribute
from thalweg.lang.captures import Captured, Opaque, static_attribute
from thalweg.lang.symbols import Scope, Static, Symbol, TupleSymbol
from thalweg.lang.tuples import Tuple, plain
from thalweg.lang.typed_expressions import Typed, Value, constant

BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FUNCTIONS: Mapping[Any, str] = {
    getattr(builtins, n): n for n in ("abs", "len", "ord", "hex", "oct", "bin", "repr")
} | {getattr(math, n): f"math.{n}" for n in dir(math) if not n.startswith("_") and callable(getattr(math, n))}
_CONVERSIONS: Mapping[int, str] = {ord("r"): "repr", ord("s"): "str"}


class Expressions:
    """Reads expressions in the scope of one call of a function."""

    via: Where | None = None  # the call of the composite that contains the function

    def __init__(self, function: Captured, scope: Scope, input_type: TupleType, typed: Typed) -> None:
        self.function, self.scope, self.input_type, self.typed = function, scope, input_type, typed

    def helper(self, node: ast.Call, function: types.FunctionType) -> Symbol:
        """A call of a user function."""
        raise NotImplementedError

    def value(self, node: ast.expr) -> Value:
        """A single value or a tuple."""
        found = self.symbol(node)
        return found if isinstance(found, Record) else self.as_expr(found, node)

    def symbol(self, node: ast.expr) -> Symbol:
        self.typed.step()
        match node:
            case ast.Constant(value=value):
                return Static(value)
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=inner, attr=name):
                return self._attribute(node, self.symbol(inner), name)
            case ast.Dict():
                return self._record(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(test)
                if isinstance(condition, Const):
                    return self.symbol(body if condition.value else orelse)
                return self.typed.choose(condition, self.value(body), self.value(orelse))
            case ast.Call():
                return self._call(node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return Static(tuple(self._static(e) for e in elts))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return Static(-value)
        return self._operation(node)

    def _operation(self, node: ast.expr) -> Expr:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.typed.known(BINARY[type(op)], self.expr(left), self.expr(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.typed.known("not", self.truth(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._whole(self.expr(operand), node, INT, FLOAT)
            case ast.UnaryOp(op=op, operand=operand):
                return self.typed.known("neg" if isinstance(op, ast.USub) else "~", self.expr(operand))
            case ast.BoolOp(op=op, values=values):
                return self._either(isinstance(op, ast.And), [self.expr(value) for value in values])
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(left, ops, comparators)
            case ast.Subscript(value=value, slice=index):
                return self._subscript(self.expr(value), index)
            case ast.JoinedStr(values=parts):
                return self.typed.fold("+", [self._part(part) for part in parts] or [Const("", STR)])
        raise Opaque(f"it uses `{ast.unparse(node)}`")

    def expr(self, node: ast.expr) -> Expr:
        return self.as_expr(self.symbol(node), node)

    def as_expr(self, found: Symbol, node: ast.expr) -> Expr:
        if isinstance(found, Expr):
            return found
        if isinstance(found, Static):
            return constant(found.value)
        raise Opaque(f"it uses `{ast.unparse(node)}`")

    def _static(self, node: ast.expr) -> Any:
        found = self.symbol(node)
        if not isinstance(found, Static):
            raise Opaque(f"it uses `{ast.unparse(node)}` in a collection")
        return found.value

    def truth(self, node: ast.expr) -> Expr:
        """The truth of a value; for `and`, `or` and `not`, only the truth of their operands matters."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return self.typed.fold("and" if isinstance(op, ast.And) else "or", [self.truth(v) for v in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(test)
                if isinstance(condition, Const):
                    return self.truth(body if condition.value else orelse)
                return self.typed.either(condition, self.truth(body), self.truth(orelse))
        return self.typed.truth(self.expr(node))

    def _either(self, all_of: bool, values: list[Expr]) -> Expr:
        """`and` / `or` as a value: one of the operands."""
        found, *others = values
        for value in others:
            if found.type is value.type and found.type is BOOL:
                found = self.typed.known("and" if all_of else "or", found, value)
            else:
                test = self.typed.truth(found)
                made = self.typed.choose(test, value, found) if all_of else self.typed.choose(test, found, value)
                assert isinstance(made, Expr)
                found = made
        return found

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> Expr:
        links: list[Expr] = []
        for op, right in zip(ops, comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                found = self._contained(self.expr(left), self.symbol(right), right)
                links.append(self.typed.known("not", found) if isinstance(op, ast.NotIn) else found)
            elif type(op) in _COMPARE:
                links.append(self.typed.known(_COMPARE[type(op)], self.expr(left), self.expr(right)))
            else:
                raise Opaque(f"it uses `{type(op).__name__}`")
            left = right
        return self.typed.fold("and", links)

    def _contained(self, item: Expr, container: Symbol, node: ast.expr) -> Expr:
        if isinstance(container, Static) and isinstance(container.value, tuple | list | set | frozenset):
            values = container.value
            if isinstance(values, set | frozenset):  # its order changes from process to process
                values = sorted(values, key=lambda v: (type(v).__name__, repr(v)))
            return self.typed.among(item, values)
        return self.typed.known("within", item, self.as_expr(container, node))

    def _subscript(self, value: Expr, index: ast.expr) -> Expr:
        if not isinstance(index, ast.Slice):
            return self.typed.known("[a]", value, self.expr(index))
        given = [b if b is not None and not _is_none(b) else None for b in (index.lower, index.upper, index.step)]
        parts = ["" if bound is None else letter for bound, letter in zip(given, "abc", strict=True)]
        form = f"[{parts[0]}:{parts[1]}{':' + parts[2] if parts[2] else ''}]"
        return self.typed.known(form, value, *(self.expr(bound) for bound in given if bound is not None))

    def _part(self, node: ast.expr) -> Expr:
        """One part of an f-string."""
        if not isinstance(node, ast.FormattedValue):
            return self.expr(node)
        found = self.expr(node.value)
        if node.conversion in _CONVERSIONS:
            found = self._function_call(_CONVERSIONS[node.conversion], [found], node)
        elif node.conversion != -1:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        if node.format_spec is None:
            return self._function_call("str", [found], node)
        return self.typed.known("format", found, self.expr(node.format_spec))

    def name(self, name: str) -> Symbol:
        if name in self.function.locals:
            if name not in self.scope:
                raise Opaque(f"{name} may be unassigned")
            return self.scope[name]
        if name in self.function.names:
            return Static(self.function.names[name])
        if hasattr(builtins, name):
            return Static(getattr(builtins, name))
        raise Opaque(f"it uses `{name}`")

    def _attribute(self, node: ast.Attribute, value: Symbol, name: str) -> Symbol:
        if isinstance(value, Static):
            return Static(static_attribute(value.value, name))
        if not isinstance(value, TupleSymbol):
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        declared = self.input_type
        kind = declared.get(name)
        if kind is None:
            if hasattr(declared.python or Tuple, name):
                raise Opaque(f"it uses {name}")
            raise unknown_attribute(name, declared, Where(self.function.code.co_filename, node.lineno, self.via))
        return Attr(name, kind)

    def _record(self, node: ast.Dict) -> Record:
        fields = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise Opaque("an output attribute's name is not a literal")
            fields.append((key.value, self.expr(value)))
        if len({name for name, _ in fields}) != len(fields):
            raise Opaque("an output attribute is given twice")
        return Record(tuple(fields))

    # Calls

    def _call(self, node: ast.Call) -> Symbol:
        if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise Opaque("it unpacks arguments")
        if isinstance(node.func, ast.Attribute):
            owner = self.symbol(node.func.value)
            if isinstance(owner, Expr) or (isinstance(owner, Static) and type(owner.value) is str):
                return self._method(node, self.as_expr(owner, node.func.value), node.func.attr)
            callee = self._attribute(node.func, owner, node.func.attr)
        else:
            callee = self.symbol(node.func)
        if not isinstance(callee, Static):
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        function = callee.value
        if isinstance(function, type) and issubclass(function, Tuple):
            return self._constructed(node, function)
        if isinstance(function, types.FunctionType):
            return self.helper(node, function)
        if node.keywords:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        if function is bool and len(node.args) == 1:
            return self.truth(node.args[0])
        name = _FUNCTIONS.get(function) if isinstance(function, types.BuiltinFunctionType) else None
        if name is None and any(function is f for f in (int, float, str, min, max, round, format, pow)):
            name = function.__name__
        if name is None:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        return self._function_call(name, [self.expr(argument) for argument in node.args], node)

    def _function_call(self, name: str, operands: list[Expr], node: ast.expr) -> Expr:
        match name, operands:
            case (("min" | "max"), [_, _, *_]):
                return self.typed.fold(name, operands)
            case "pow", [a, b]:
                return self.typed.known("**", a, b)
            case (("int" | "round" | "math.floor" | "math.ceil" | "math.trunc"), [a]) if a.type in (INT, FLOAT):
                return a if a.type is INT else self.typed.known(name, a)
            case "str", [a] if a.type is STR:
                return a
            case "float", [a] if a.type is FLOAT:
                return a
            case (("round" | "math.floor" | "math.ceil" | "math.trunc"), [a]):
                return self._whole(a, node, INT)
            case (("min" | "max"), _):
                raise Opaque(f"it uses `{ast.unparse(node)}`")
        if not operands:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        return self.typed.known(name, *operands)

    def _whole(self, expr: Expr, node: ast.expr, *kinds: Any) -> Expr:
        """The expression as a number; a bool becomes an int."""
        if expr.type in kinds:
            return expr
        if expr.type is not BOOL:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        return self.typed.known("int", expr)

    def _method(self, node: ast.Call, owner: Expr, name: str) -> Expr:
        if node.keywords:
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        if name in ("startswith", "endswith") and len(node.args) == 1:
            found = self.symbol(node.args[0])
            if isinstance(found, Static) and type(found.value) is tuple and found.value:
                ends = [constant(value) for value in found.value]
                return self.typed.fold("or", [self.typed.known(f".{name}", owner, end) for end in ends])
        return self.typed.known(f".{name}", owner, *(self.expr(argument) for argument in node.args))

    def _constructed(self, node: ast.Call, made: type[Tuple]) -> Record:
        declared = made.tuple_type
        if not plain(made):
            raise Opaque(f"{declared.name} defines its own __init__")
        given = dict(zip(declared.names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
        if len(node.args) + len(node.keywords) != len(given) or given.keys() != set(declared.names):
            raise Opaque(f"it does not give each attribute of {declared.name} exactly once")
        self.typed.made.add(made)
        return Record(tuple((name, self.expr(given[name])) for name in declared.names))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
