"""The reader: follows a function's statements with symbols in place of values, up to the expression that it returns.

Locals are replaced by the expressions assigned to them, branches become `if` expressions, and calls of user functions
are followed. Evaluation stays lazy: a branch contains only what Python evaluates for a tuple that takes it.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thalweg.errors import Where
from thalweg.ir.expr import Const, Expr
from thalweg.ir.types import TupleType
from thalweg.lang.captures import Captured, Opaque
from thalweg.lang.expressions import BINARY, Expressions
from thalweg.lang.symbols import ROW, Scope, Static, Symbol, TupleSymbol, exprs_of
from thalweg.lang.typed_expressions import Typed, Value, constant

MAX_DEPTH = 8  # of nested calls of user functions


class FunctionReader:
    """Reads one function of one tuple, with all functions that it calls."""

    def __init__(
        self, function: Callable[[Any], Any], input_type: TupleType, *, as_truth: bool = False, via: Where | None = None
    ) -> None:
        self.main, self.input_type, self.as_truth, self.via = Captured(function), input_type, as_truth, via
        self.typed = Typed()

    def read(self) -> Value:
        given: Mapping[str, Any] = self.main.given
        if not self.main.positional or self.main.positional[0] in given:
            raise Opaque("it does not take a tuple")
        first = self.main.positional[0]
        others = [*self.main.positional[1:], *(a.arg for a in self.main.node.args.kwonlyargs)]
        if any(name not in given for name in others):
            raise Opaque("it takes more than one tuple")
        scope: Scope = {name: Static(given[name]) for name in others}
        return _Call(self, self.main, scope | {first: ROW}, (self.main.code,)).result(self.as_truth)


class _Call(Expressions):
    """One call of a function: its scope, and the expressions that Python has evaluated in it so far."""

    def __init__(
        self, reader: FunctionReader, function: Captured, scope: Scope, stack: tuple[types.CodeType, ...]
    ) -> None:
        super().__init__(function, scope, reader.input_type, reader.typed)
        self.via = reader.via
        self.reader, self.stack, self.as_truth = reader, stack, False
        self.evaluated: list[Expr] = [expr for value in scope.values() for expr in exprs_of(value)]

    def result(self, as_truth: bool) -> Value:
        self.as_truth = as_truth
        return self._block(self.function.statements)

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> Value:
        for index, statement in enumerate(statements):
            match statement:
                case ast.Return(value=value) if value is not None:
                    found = self.truth(value) if self.as_truth else self.value(value)
                    return self.typed.after(self.evaluated, found)
                case ast.If(test=test, body=body, orelse=orelse):
                    if _returns(body) or _returns(orelse):
                        return self._fork(test, [*body, *statements[index + 1 :]], [*orelse, *statements[index + 1 :]])
                    self._join(test, body, orelse)
                case _:
                    self._simple(statement)
        raise Opaque("it may end without a return")

    def _fork(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> Value:
        condition = self.truth(test)
        if isinstance(condition, Const):
            return self._block(body if condition.value else orelse)
        a, b = (self._branch()._block(statements) for statements in (body, orelse))
        return self.typed.after(self.evaluated, self.typed.choose(condition, a, b))

    def _join(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Branches without a return: the values that they assign depend on the test."""
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
        left, right = (constant(s.value) if isinstance(s, Static) else s for s in (a, b))
        if isinstance(left, TupleSymbol) or isinstance(right, TupleSymbol):
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
            case ast.AugAssign(target=ast.Name() as changed, op=op, value=operand) if type(op) in BINARY:
                old = self.as_expr(self.name(changed.id), changed)
                self._assign(changed, self.typed.known(BINARY[type(op)], old, self.expr(operand)))
            case _:
                raise Opaque(f"it uses `{ast.unparse(statement).splitlines()[0]}`")

    def _values(self, node: ast.expr) -> Symbol | list[Symbol]:
        return [self.symbol(e) for e in node.elts] if isinstance(node, ast.Tuple) else self.symbol(node)

    def _assign(self, target: ast.expr, found: Symbol | list[Symbol]) -> None:
        match target:
            case ast.Name(id=name) if not isinstance(found, list):
                self.scope[name] = found
                self.evaluated += exprs_of(found)
            case ast.Name(id=name) if isinstance(found, list) and all(isinstance(s, Static) for s in found):
                self.scope[name] = Static(tuple(s.value for s in found if isinstance(s, Static)))
            case ast.Tuple(elts=parts) if isinstance(found, list) and len(parts) == len(found):
                for part, symbol in zip(parts, found, strict=True):
                    self._assign(part, symbol)
            case _:
                raise Opaque(f"it assigns to `{ast.unparse(target)}`")

    def helper(self, node: ast.Call, function: types.FunctionType) -> Symbol:
        """A call of a user function, read as if its body were inlined."""
        try:
            helper = Captured(function)
        except Opaque as reason:
            raise Opaque(f"it calls {function.__name__}: {reason}") from None
        if helper.code in self.stack or len(self.stack) > MAX_DEPTH:
            raise Opaque(f"it calls {function.__name__} recursively, or nests calls too deeply")
        positional, given = helper.positional, helper.given
        scope: Scope = dict(zip(positional, map(self.symbol, node.args), strict=False))
        scope |= {k.arg: self.symbol(k.value) for k in node.keywords if k.arg}
        names = {*positional, *(a.arg for a in helper.node.args.kwonlyargs)}
        if len(scope) != len(node.args) + len(node.keywords) or not scope.keys() <= names:
            raise Opaque(f"it calls {function.__name__} with arguments that do not match its declaration")
        scope = {name: Static(value) for name, value in given.items()} | scope
        if scope.keys() != names:
            raise Opaque(f"it calls {function.__name__} with arguments that do not match its declaration")
        try:
            return _Call(self.reader, helper, scope, (*self.stack, helper.code)).result(False)
        except Opaque as reason:
            raise Opaque(f"it calls {function.__name__}: {reason}") from None


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(n, ast.Return) for s in statements for n in ast.walk(s))
