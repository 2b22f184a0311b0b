"""The reader: follows a function's statements with symbols in place of values, and says what it returns.

Locals are replaced by what was assigned to them, branches become `if` expressions, and calls of the user's own
functions are followed. Laziness is kept: only what Python evaluates for a tuple is in the branch that the tuple takes.
"""

from __future__ import annotations

import ast
import builtins
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.errors import GraphError, Where, did_you_mean
from thalweg.ir.expr import Attr, Const, Expr, Record
from thalweg.ir.types import BOOL, FLOAT, INT, STR, TupleType
from thalweg.lang.captured import Captured, Opaque, static_attribute
from thalweg.lang.tuples import Tuple, plain
from thalweg.lang.typed import Typed, Value, constant

MAX_DEPTH = 8  # of calls of the user's own functions
MAX_STEPS = 5000
_BINARY: Mapping[type[ast.operator], str] = {
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


@dataclass(frozen=True, slots=True)
class _Static:
    """A value that is the same for all tuples."""

    value: Any


class _Row:
    """The tuple itself."""


_ROW = _Row()
Symbol = Value | _Static | _Row
Scope = dict[str, Symbol]


def unknown_attribute(name: str, input_type: TupleType, where: Where) -> GraphError:
    return GraphError(
        f"unknown attribute {name}",
        where=where,
        expected=f"one of {', '.join(input_type.names)}",
        found=name,
        hint=did_you_mean(name, input_type.names),
    )


class Reader:
    """Reads one function of one tuple, with all that it calls."""

    def __init__(
        self, function: Callable[[Any], Any], input_type: TupleType, *, as_truth: bool = False, via: Where | None = None
    ) -> None:
        self.main, self.input_type, self.as_truth, self.via = Captured(function), input_type, as_truth, via
        self.typed, self.steps = Typed(), 0
        self.helpers: dict[types.FunctionType, types.FunctionType] = {}

    def read(self) -> Value:
        given: Mapping[str, Any] = self.main.given
        if not self.main.positional or self.main.positional[0] in given:
            raise Opaque("it does not take a tuple")
        first = self.main.positional[0]
        others = [*self.main.positional[1:], *(a.arg for a in self.main.node.args.kwonlyargs)]
        if any(name not in given for name in others):
            raise Opaque("it takes more than one tuple")
        scope: Scope = {name: _Static(given[name]) for name in others}
        return _Call(self, self.main, scope | {first: _ROW}, (self.main.code,)).result(self.as_truth)

    def frozen(self) -> types.FunctionType:
        return self.main.frozen(self.helpers)


class _Call:
    """One call of a function: its scope, and what Python evaluated in it so far."""

    def __init__(self, reader: Reader, function: Captured, scope: Scope, stack: tuple[types.CodeType, ...]) -> None:
        self.reader, self.function, self.scope, self.stack = reader, function, scope, stack
        self.typed = reader.typed
        self.evaluated: list[Expr] = [expr for value in scope.values() for expr in _exprs(value)]

    def result(self, as_truth: bool) -> Value:
        self.as_truth = as_truth
        return self._block(self.function.statements)

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> Value:
        for index, statement in enumerate(statements):
            match statement:
                case ast.Return(value=value) if value is not None:
                    found = self.truth(value) if self.as_truth else self._returned(value)
                    return self.typed.after(self.evaluated, found)
                case ast.If(test=test, body=body, orelse=orelse):
                    if _returns(body) or _returns(orelse):
                        return self._fork(test, [*body, *statements[index + 1 :]], [*orelse, *statements[index + 1 :]])
                    self._join(test, body, orelse)
                case _:
                    self._simple(statement)
        raise Opaque("it may end without a return")

    def _returned(self, node: ast.expr) -> Value:
        found = self.symbol(node)
        return found if isinstance(found, Record) else self._expr(found, node)

    def _fork(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> Value:
        condition = self.truth(test)
        if isinstance(condition, Const):
            return self._block(body if condition.value else orelse)
        a, b = (self._branch()._block(statements) for statements in (body, orelse))
        return self.typed.after(self.evaluated, self.typed.choose(condition, a, b))

    def _join(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Branches without a return: what they assign depends on the test."""
        condition = self.truth(test)
        branches = [self._branch(), self._branch()]
        for branch, statements in zip(branches, (body, orelse), strict=True):
            for statement in statements:
                match statement:
                    case ast.If(test=inner, body=then, orelse=otherwise):
                        branch._join(inner, then, otherwise)
                    case _:
                        branch._simple(statement)
        a, b = branches
        if isinstance(condition, Const):
            taken = a if condition.value else b
            self.scope, self.evaluated = taken.scope, self.evaluated + taken.evaluated
            return
        true = Const(True, condition.type)
        done = [self.typed.after(branch.evaluated, true) for branch in branches]
        self.evaluated.append(condition)
        if any(d != true for d in done):
            made = self.typed.choose(condition, *done)
            assert isinstance(made, Expr)
            self.evaluated.append(made)
        self.scope = {n: self._merged(condition, a.scope[n], b.scope[n]) for n in a.scope if n in b.scope}

    def _merged(self, condition: Expr, a: Symbol, b: Symbol) -> Symbol:
        if a is b:
            return a
        left, right = (constant(s.value) if isinstance(s, _Static) else s for s in (a, b))
        if isinstance(left, _Row) or isinstance(right, _Row):
            raise Opaque("a name is the tuple in one branch only")
        return self.typed.choose(condition, left, right)

    def _branch(self) -> _Call:
        made = _Call(self.reader, self.function, dict(self.scope), self.stack)
        made.evaluated, made.as_truth = [], self.as_truth
        return made

    def _simple(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=targets, value=value):
                found = self._values(value)
                for one in targets:
                    self._assign(one, found)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, self.symbol(value))
            case ast.AugAssign(target=ast.Name() as changed, op=op, value=operand) if type(op) in _BINARY:
                old = self._expr(self._name(changed.id), changed)
                self._assign(changed, self.typed.known(_BINARY[type(op)], old, self.expr(operand)))
            case _:
                raise Opaque(f"it uses `{ast.unparse(statement).splitlines()[0]}`")

    def _values(self, node: ast.expr) -> Symbol | list[Symbol]:
        return [self.symbol(e) for e in node.elts] if isinstance(node, ast.Tuple) else self.symbol(node)

    def _assign(self, target: ast.expr, found: Symbol | list[Symbol]) -> None:
        match target:
            case ast.Name(id=name) if not isinstance(found, list):
                self.scope[name] = found
                self.evaluated += _exprs(found)
            case ast.Name(id=name) if isinstance(found, list) and all(isinstance(s, _Static) for s in found):
                self.scope[name] = _Static(tuple(s.value for s in found if isinstance(s, _Static)))
            case ast.Tuple(elts=parts) if isinstance(found, list) and len(parts) == len(found):
                for part, symbol in zip(parts, found, strict=True):
                    self._assign(part, symbol)
            case _:
                raise Opaque(f"it assigns to `{ast.unparse(target)}`")

    # Expressions

    def symbol(self, node: ast.expr) -> Symbol:
        self.reader.steps += 1
        if self.reader.steps > MAX_STEPS:
            raise Opaque("it is too long")
        match node:
            case ast.Constant(value=value):
                return _Static(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute(value=inner, attr=name):
                return self._attribute(node, self.symbol(inner), name)
            case ast.Dict():
                return self._record(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(test)
                if isinstance(condition, Const):
                    return self.symbol(body if condition.value else orelse)
                return self.typed.choose(condition, self._returned(body), self._returned(orelse))
            case ast.Call():
                return self._call(node)
            case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                return _Static(tuple(self._static(e) for e in elts))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return _Static(-value)
        return self._operation(node)

    def _operation(self, node: ast.expr) -> Expr:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self.typed.known(_BINARY[type(op)], self.expr(left), self.expr(right))
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
        return self._expr(self.symbol(node), node)

    def _expr(self, found: Symbol, node: ast.expr) -> Expr:
        if isinstance(found, Expr):
            return found
        if isinstance(found, _Static):
            return constant(found.value)
        raise Opaque(f"it uses `{ast.unparse(node)}`")

    def _static(self, node: ast.expr) -> Any:
        found = self.symbol(node)
        if not isinstance(found, _Static):
            raise Opaque(f"it uses `{ast.unparse(node)}` in a collection")
        return found.value

    def truth(self, node: ast.expr) -> Expr:
        """The truth of a value; of `and`, `or` and `not` only the truth of their operands matters then."""
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
        if isinstance(container, _Static) and isinstance(container.value, tuple | list | set | frozenset):
            values = container.value
            if isinstance(values, set | frozenset):  # its order changes from process to process
                values = sorted(values, key=lambda v: (type(v).__name__, repr(v)))
            return self.typed.among(item, values)
        return self.typed.known("within", item, self._expr(container, node))

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

    def _name(self, name: str) -> Symbol:
        if name in self.function.locals:
            if name not in self.scope:
                raise Opaque(f"{name} may not be assigned")
            return self.scope[name]
        if name in self.function.names:
            return _Static(self.function.names[name])
        if hasattr(builtins, name):
            return _Static(getattr(builtins, name))
        raise Opaque(f"it uses `{name}`")

    def _attribute(self, node: ast.Attribute, value: Symbol, name: str) -> Symbol:
        if isinstance(value, _Static):
            return _Static(static_attribute(value.value, name))
        if not isinstance(value, _Row):
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        declared = self.reader.input_type
        kind = declared.get(name)
        if kind is None:
            if hasattr(declared.python or Tuple, name):
                raise Opaque(f"it uses {name}")
            where = Where(self.function.code.co_filename, node.lineno, self.reader.via)
            raise unknown_attribute(name, declared, where)
        return Attr(name, kind)

    def _record(self, node: ast.Dict) -> Record:
        fields = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise Opaque("an output attribute's name is not a literal")
            fields.append((key.value, self.expr(value)))
        if len({name for name, _ in fields}) != len(fields):
            raise Opaque("an output attribute stands there twice")
        return Record(tuple(fields))

    # Calls

    def _call(self, node: ast.Call) -> Symbol:
        if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise Opaque("it unpacks arguments")
        if isinstance(node.func, ast.Attribute):
            owner = self.symbol(node.func.value)
            if isinstance(owner, Expr) or (isinstance(owner, _Static) and type(owner.value) is str):
                return self._method(node, self._expr(owner, node.func.value), node.func.attr)
            callee = self._attribute(node.func, owner, node.func.attr)
        else:
            callee = self.symbol(node.func)
        if not isinstance(callee, _Static):
            raise Opaque(f"it uses `{ast.unparse(node)}`")
        function = callee.value
        if isinstance(function, type) and issubclass(function, Tuple):
            return self._constructed(node, function)
        if isinstance(function, types.FunctionType):
            return self._helper(node, function)
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
        """The number that it is; a bool is an int."""
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
            if isinstance(found, _Static) and type(found.value) is tuple and found.value:
                ends = [constant(value) for value in found.value]
                return self.typed.fold("or", [self.typed.known(f".{name}", owner, end) for end in ends])
        return self.typed.known(f".{name}", owner, *(self.expr(argument) for argument in node.args))

    def _constructed(self, node: ast.Call, made: type[Tuple]) -> Record:
        declared = made.tuple_type
        if not plain(made):
            raise Opaque(f"{declared.name} has an __init__ of its own")
        given = dict(zip(declared.names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
        if len(node.args) + len(node.keywords) != len(given) or given.keys() != set(declared.names):
            raise Opaque(f"it does not give each attribute of {declared.name} once")
        return Record(tuple((name, self.expr(given[name])) for name in declared.names))

    def _helper(self, node: ast.Call, function: types.FunctionType) -> Symbol:
        """A call of the user's own function, read as if its body stood here."""
        try:
            helper = Captured(function)
        except Opaque as reason:
            raise Opaque(f"it calls {function.__name__}: {reason}") from None
        if helper.code in self.stack or len(self.stack) > MAX_DEPTH:
            raise Opaque(f"it calls {function.__name__} again, or too deep")
        positional, given = helper.positional, helper.given
        scope: Scope = dict(zip(positional, map(self.symbol, node.args), strict=False))
        scope |= {k.arg: self.symbol(k.value) for k in node.keywords if k.arg}
        names = {*positional, *(a.arg for a in helper.node.args.kwonlyargs)}
        if len(scope) != len(node.args) + len(node.keywords) or not scope.keys() <= names:
            raise Opaque(f"it calls {function.__name__} in another way than it is declared")
        scope = {name: _Static(value) for name, value in given.items()} | scope
        if scope.keys() != names:
            raise Opaque(f"it calls {function.__name__} in another way than it is declared")
        try:
            found = _Call(self.reader, helper, scope, (*self.stack, helper.code)).result(False)
        except Opaque as reason:
            raise Opaque(f"it calls {function.__name__}: {reason}") from None
        self.reader.helpers[function] = helper.frozen(self.reader.helpers)
        return found


def _exprs(symbol: Symbol) -> list[Expr]:
    if isinstance(symbol, Record):
        return [field for _, field in symbol.fields]
    return [symbol] if isinstance(symbol, Expr) else []


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
