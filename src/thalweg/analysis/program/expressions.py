"""Expressions."""

from __future__ import annotations
import __future__

import ast
import sys
from collections.abc import Sequence

from thalweg.analysis.program.displays import Displays
from thalweg.analysis.program.frames import Args, Frame, mangled
from thalweg.analysis.program.store import meet
from thalweg.analysis.program.values import (
    BOOL,
    NONE,
    NOTHING,
    STR,
    UNKNOWN,
    Func,
    Known,
    New,
    Super,
    Value,
    join,
    literal,
    only,
)

_SLICE: Value = frozenset((Known(slice(None)),))  # one for all: items are known by their identity

_SHOWN = {-1: ("__format__", "__str__", "__repr__"), ord("s"): ("__str__", "__repr__")}  # by `!s` and the like


class Expressions(Displays):
    """Follows expressions."""

    def expr(self, node: ast.expr) -> Value:
        if self.store is None:
            return NOTHING
        self.step()
        match node:
            case ast.Constant(value=value):
                return frozenset((Known(value),))
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute(value=owner, attr=attr):
                return self.get_attribute(self.expr(owner), mangled(attr, self.frame), node)
            case ast.Call():
                return self._call_of(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.expr(left), self.expr(right), node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                answer = literal(self.truth(self.expr(operand), operand))
                return BOOL if answer is None else frozenset((Known(not answer.value),))
            case ast.UnaryOp(operand=operand):
                return self.unary(self.expr(operand), node)
            case ast.BoolOp(values=values):
                return self._one_of(values)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(test, body, orelse)
            case ast.Subscript(value=owner, slice=index):
                return self.subscript(self.expr(owner), self.expr(index), node)
            case ast.Slice(lower=lower, upper=upper, step=step):
                for bound in (lower, upper, step):
                    if bound is not None and not self.plain(found := self.expr(bound)):
                        self.unknown("an index runs code that cannot be read", node, found)
                return _SLICE
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                return self.display(node, elts)
            case ast.Dict(keys=keys, values=values):
                return self.dict_display(node, keys, values)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.comprehension(node)
            case ast.JoinedStr(values=values):
                for part in values:
                    self.expr(part)
                return STR
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                shown = self.expr(value)
                if spec is not None:
                    self.expr(spec)
                if self.shows_itself(shown, _SHOWN.get(conversion, ("__repr__",)), node):
                    return STR
                return self.call_built_in(str, Args([shown]), node) or STR
            case ast.Lambda():
                return self.function(node)
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                found = self.expr(value)
                self.assign_name(name, found, node, in_comprehension=False)
                return found
            case ast.Starred(value=value):
                return self.elements(self.expr(value), node)
            case ast.Yield(value=value):
                found = NONE if value is None else self.expr(value)
                self.yields(found, self.copied_of(found), (1, 1), node)
                return NONE
            case ast.YieldFrom(value=value):
                return self._delegate(self.expr(value), node)
        return self.unknown(f"uses `{ast.unparse(node)[:40]}`", node)

    def _one_of(self, values: Sequence[ast.expr]) -> Value:
        """`and`, `or`: each but the first may not be evaluated."""
        found = [self.expr(values[0])]
        for node in values[1:]:
            self.truth(found[-1], node)
            before = self.store
            if before is None:
                break
            self.store = before.copy()
            found.append(self.expr(node))
            self.store = meet((before, self.store))
        return join(found)

    def _choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr) -> Value:
        condition = literal(self.truth(self.expr(test), test))
        before = self.store
        if before is None:
            return NOTHING
        if condition is not None:
            return self.expr(body if condition.value else orelse)
        self.store = before.copy()
        first, after = self.expr(body), self.store
        self.store = before
        second = self.expr(orelse)
        self.store = meet((after, self.store))
        return join((first, second))

    def _compare(self, node: ast.Compare) -> Value:
        left = self.expr(node.left)
        found: Value = BOOL
        for index, (op, other) in enumerate(zip(node.ops, node.comparators, strict=True)):
            before = self.store
            if index and before is not None:  # it may have ended before
                self.truth(found, node)
                self.store = before.copy()
            right = self.expr(other)
            found = self.compare(op, left, right, node)
            left = right
            if index:
                self.store = meet((before, self.store))
        return found if len(node.ops) == 1 else BOOL

    def _delegate(self, source: Value, node: ast.AST) -> Value:
        """`yield from`."""
        count = self.steady_length(source)
        copied = self.copied_of_elements(source)
        self.yields(self.elements(source, node), copied, count, node)
        return UNKNOWN  # what the generator returned

    def function(self, node: ast.Lambda | ast.FunctionDef) -> Value:
        scopes = tuple(tuple(scope.items()) for scope in self.frame.scopes)
        item = Func((self.frame.key, id(node)), node, self.frame, scopes)
        a = node.args
        names = [x.arg for x in (*a.posonlyargs, *a.args)]
        for name, default in [
            *zip(names[len(names) - len(a.defaults) :], a.defaults, strict=True),
            *((x.arg, d) for x, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)),
        ]:
            if default is not None:
                self.put(item, f"default {name}", self.expr(default))
        self._annotations(node)
        return frozenset((item,))

    def _annotations(self, node: ast.Lambda | ast.FunctionDef) -> None:
        """They are evaluated when a function is defined: before Python 3.14, and unless its module says otherwise."""
        if sys.version_info >= (3, 14) or self.frame.module.get("annotations") is __future__.annotations:
            return
        a = node.args
        every = (*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg)
        said = [one.annotation for one in every if one is not None]
        for annotation in (*said, node.returns if isinstance(node, ast.FunctionDef) else None):
            if annotation is not None:
                self.expr(annotation)

    def _call_of(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self._super(node)
        callee = self.expr(node.func)
        positional: list[Value] = []
        named: dict[str, Value] = {}
        more: Value | None = None
        more_named: Value | None = None
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                if more is None:
                    positional.append(self.expr(argument))
                else:
                    more = join((more, self.expr(argument)))
                continue
            whole = self.expr(argument.value)
            fields = self.fields_of(whole)
            item = only(whole)
            if more is None and fields is not None and isinstance(item, New) and item.type is tuple:
                positional += [fields[i] for i in range(len(fields)) if i in fields]
            else:
                more = join((more or NOTHING, self.elements(whole, argument)))
        for keyword in node.keywords:
            value = self.expr(keyword.value)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif (fields := self.fields_of(value)) is not None and all(isinstance(k, str) for k in fields):
                named |= fields
            else:
                more_named = join((more_named or NOTHING, *(self.contents(i) for i in value)))
        return self.call(callee, Args(positional, named, more, more_named), node)

    def _super(self, node: ast.Call) -> Value:
        frame: Frame | None = self.frame
        while frame is not None and "__class__" not in frame.cells:
            frame = frame.outer
        if frame is None or self.frame.first is None:
            return self.unknown("uses super() where its class is not known", node)
        cls = frame.cells["__class__"].cell_contents
        return frozenset(Super(cls, item) for item in self.name(self.frame.first, node))
