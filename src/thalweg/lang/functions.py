"""Read a user's function: Python syntax to an expression of the allow-list, or the reason why not."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from thalweg.errors import GraphError, Where, did_you_mean, redacted
from thalweg.ir.expr import Apply, Attr, Const, Expr, Record, apply
from thalweg.ir.operators import Function
from thalweg.ir.types import INT64_MAX, INT64_MIN, PYTHON_TYPES, TupleType
from thalweg.lang.place import function_node
from thalweg.lang.tuples import Tuple

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


class _Opaque(Exception):
    """The function uses something outside the allow-list."""


def read_function(function: Callable[[Any], Any], input_type: TupleType, where: Where) -> Function:
    """The user's function with its meaning, where that can be read."""
    if not callable(function):
        raise GraphError("not a function", where=where, expected="a function of one tuple", found=repr(function))
    try:
        reader = _Reader(function, input_type, where)
        expr = reader.read()
    except _Opaque as reason:
        return Function(function, where, None, str(reason))
    return Function(reader.frozen(), where, expr)


def attribute_function(name: str, input_type: TupleType, where: Where) -> Function:
    """The function that picks one attribute."""
    kind = input_type.get(name)
    if kind is None:
        raise unknown_attribute(name, input_type, where)
    return Function(_Pick(name), where, Attr(name, kind))


class _Pick:
    """Picks an attribute; a class, so that it pickles small and has a stable name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, row: Any) -> Any:
        return getattr(row, self.name)


def unknown_attribute(name: str, input_type: TupleType, where: Where) -> GraphError:
    return GraphError(
        f"unknown attribute {name}",
        where=where,
        expected=f"one of {', '.join(input_type.names)}",
        found=name,
        hint=did_you_mean(name, input_type.names),
    )


class _Reader:
    def __init__(self, function: Callable[[Any], Any], input_type: TupleType, where: Where) -> None:
        if not isinstance(function, types.FunctionType):
            raise _Opaque(f"{type(function).__name__} is not a plain function")
        self.function, self.code = function, function.__code__
        node = function_node(self.code)
        if node is None:
            raise _Opaque("its source is not at hand")
        parameters = node.args.args
        if (
            len(parameters) != 1
            or self.code.co_argcount != 1
            or self.code.co_kwonlyargcount
            or self.code.co_flags
            & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE)
        ):
            raise _Opaque("it does not take exactly one tuple")
        self.node, self.parameter = node, parameters[0].arg
        self.input_type, self.where = input_type, where
        self.names = _captured(function)

    def frozen(self) -> types.FunctionType:
        """The function with its captured values as they are now: a loop variable may be another when it is called."""
        function = self.function
        cells = tuple(
            types.CellType(self.names[n]) if n in self.names else types.CellType() for n in self.code.co_freevars
        )
        module = {"__builtins__": builtins, "__name__": function.__module__} | self.names
        return types.FunctionType(self.code, module, function.__name__, function.__defaults__, cells)

    def read(self) -> Expr | Record:
        body = self._body()
        if isinstance(body, ast.Dict):
            return self._record(body)
        if isinstance(body, ast.Call) and self._is_tuple_class(body.func):
            return self._constructed(body)
        return self.expr(body)

    def _body(self) -> ast.expr:
        if isinstance(self.node, ast.Lambda):
            return self.node.body
        statements = [s for s in self.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
        if self.node.decorator_list or len(statements) != 1:
            raise _Opaque("it is more than one return statement")
        (statement,) = statements
        if not isinstance(statement, ast.Return) or statement.value is None:
            raise _Opaque("it is more than one return statement")
        return statement.value

    def _record(self, node: ast.Dict) -> Record:
        fields = []
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                raise _Opaque("an output attribute's name is not a literal")
            fields.append((key.value, self.expr(value)))
        if len({name for name, _ in fields}) != len(fields):
            raise _Opaque("an output attribute stands there twice")
        return Record(tuple(fields))

    def _is_tuple_class(self, node: ast.expr) -> bool:
        found = self.names.get(node.id) if isinstance(node, ast.Name) else None
        return isinstance(found, type) and issubclass(found, Tuple)

    def _constructed(self, node: ast.Call) -> Record:
        assert isinstance(node.func, ast.Name)
        declared = self.names[node.func.id].tuple_type
        if any(k.arg is None for k in node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise _Opaque("it unpacks arguments")
        given = dict(zip(declared.names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}
        if tuple(sorted(given)) != tuple(sorted(declared.names)):
            raise _Opaque(f"it does not give each attribute of {declared.name} once")
        return Record(tuple((name, self.expr(given[name])) for name in declared.names))

    def expr(self, node: ast.expr) -> Expr:
        match node:
            case ast.Attribute(value=ast.Name(id=self.parameter), attr=name):
                kind = self.input_type.get(name)
                if kind is None:
                    if hasattr(self.input_type.python or Tuple, name):
                        raise _Opaque(f"it uses {name}")
                    where = Where(self.code.co_filename, node.lineno, self.where.via)
                    raise unknown_attribute(name, self.input_type, where)
                return Attr(name, kind)
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Name(id=name) if name in self.names and name != self.parameter:
                return _constant(self.names[name])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._apply(_BINARY[type(op)], left, right)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
                value, bool
            ):
                return _constant(-value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._apply("neg", operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._apply("not", operand)
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                return _left_deep(word, [self.expr(value) for value in values])
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._compare(left, ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._apply("if", test, body, orelse)
            case ast.Call(func=ast.Name(id="abs"), args=[argument], keywords=[]) if self._is_builtin("abs"):
                return self._apply("abs", argument)
        raise _Opaque(f"it uses `{ast.unparse(node)}`")

    def _apply(self, op: str, *nodes: ast.expr) -> Apply:
        return _known(op, *(self.expr(node) for node in nodes))

    def _compare(self, left: ast.expr, ops: list[ast.cmpop], comparators: list[ast.expr]) -> Expr:
        links: list[Expr] = []
        for op, right in zip(ops, comparators, strict=True):
            if type(op) not in _COMPARE:
                raise _Opaque(f"it uses `{type(op).__name__}`")
            links.append(self._apply(_COMPARE[type(op)], left, right))
            left = right
        return _left_deep("and", links)

    def _is_builtin(self, name: str) -> bool:
        return self.names.get(name, getattr(builtins, name)) is getattr(builtins, name)


def _known(op: str, *operands: Expr) -> Apply:
    found = apply(op, *operands)
    if found is None:
        raise _Opaque(f"`{op}` on {', '.join(str(o.type) for o in operands)} is not vectorized")
    return found


def _left_deep(op: str, operands: list[Expr]) -> Expr:
    result = operands[0]
    for operand in operands[1:]:
        result = _known(op, result, operand)
    return result


def _constant(value: object) -> Const:
    kind = PYTHON_TYPES.get(type(value))
    if kind is None or (type(value) is int and not INT64_MIN <= value <= INT64_MAX):
        raise _Opaque(f"it uses {value!r}, which is no 64-bit int, float, str or bool")
    assert isinstance(value, int | float | str)
    if isinstance(value, str) and redacted(value) != value:
        raise _Opaque("it uses a text that a secret is a part of")  # as a constant it would be in every plan
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise _Opaque(f"it uses {value!r}, which has no encoding")
    return Const(value, kind)


def _captured(function: types.FunctionType) -> dict[str, Any]:
    """Closure variables and globals that the function names, as they are while the graph is built."""
    cells = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue  # not yet assigned: whatever reads it stays opaque
    return {n: function.__globals__[n] for n in function.__code__.co_names if n in function.__globals__} | cells
