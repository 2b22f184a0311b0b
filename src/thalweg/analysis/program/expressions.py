"""Expressions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program.machine import ELEMENTS, KEYS, Args, Frame
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.operators import Operators
from thalweg.analysis.program.scopes import names_of
from thalweg.analysis.program.store import ANY_NUMBER, Count, meet, plus, widened
from thalweg.analysis.program.tables import ITERATOR
from thalweg.analysis.program.values import (
    BOOL,
    NONE,
    NOTHING,
    STR,
    UNKNOWN,
    Func,
    Given,
    Known,
    New,
    Root,
    Row,
    Site,
    Super,
    Value,
    join,
    literal,
    only,
)

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_KINDS: dict[type[ast.AST], type] = {
    ast.ListComp: list,
    ast.SetComp: set,
    ast.GeneratorExp: ITERATOR,
    ast.DictComp: dict,
}


class Expressions(Operators):
    """Follows expressions."""

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        raise NotImplementedError

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
                return self.get_attribute(self.expr(owner), attr, node)
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
                    if bound is not None:
                        self.expr(bound)
                return frozenset((Known(slice(None)),))
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
                return self._display(node, elts)
            case ast.Dict(keys=keys, values=values):
                return self._dict_display(node, keys, values)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._comprehension(node)
            case ast.JoinedStr(values=values):
                for part in values:
                    self.expr(part)
                return STR
            case ast.FormattedValue(value=value, format_spec=spec):
                shown = self.expr(value)
                if spec is not None:
                    self.expr(spec)
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

    # Names.

    def name(self, name: str, node: ast.AST) -> Value:
        frame: Frame | None = self.frame
        if name in self._declared_global(frame):
            return self._global(name, node)
        while frame is not None:
            for scope in reversed(frame.scopes):
                if name in scope:
                    return self._variable(scope[name], name, frame)
            if name in frame.locals:
                return self._variable(frame.key, name, frame)
            if name in frame.cells:
                return self._cell(frame.cells[name], name, node)
            frame = frame.outer
        return self._global(name, node)

    def _declared_global(self, frame: Frame | None) -> frozenset[str]:
        return names_of(self.active[-1])[2] if self.active else frozenset()

    def _variable(self, key: int | Site, name: str, frame: Frame) -> Value:
        if name in frame.later:
            return self.later.get((key, name), NOTHING)
        assert self.store is not None
        return self.store.variables.get((key, name), NOTHING)

    def _cell(self, cell: Any, name: str, node: ast.AST) -> Value:
        self.notes.saw((cell, ""), self.reason(f"reads the captured {name}", node))
        rebound = self.get(Known(cell, Root("the captured", name)), ELEMENTS)
        try:
            held = cell.cell_contents
        except ValueError:  # not yet assigned
            return rebound or self.unknown(f"uses {name}, which is not there yet", node)
        return join((frozenset((Known(held, Root.of("the captured", name, held)),)), rebound))

    def _global(self, name: str, node: ast.AST) -> Value:
        if name in self.frame.module:
            return self.module_attribute(self.frame.module, name, name, node)
        if hasattr(builtins, name):
            return frozenset((Known(getattr(builtins, name)),))
        return self.unknown(f"uses {name}, which is not there yet", node)

    def assign_name(self, name: str, value: Value, node: ast.AST, *, in_comprehension: bool = True) -> None:
        frame = self.frame
        if in_comprehension and frame.scopes and name in frame.scopes[-1]:
            key = (frame.scopes[-1][name], name)
            self._set(key, name, value, frame)
            return
        _, _, out, up = names_of(self.active[-1])
        if name in out:
            self._change_name(Known(frame.module, Root("the global", name)), (frame.module, name), name, value, node)
            return
        if name in up:
            self._nonlocal(name, value, node)
            return
        self._set((frame.key, name), name, value, frame)

    def _set(self, key: tuple[Any, str], name: str, value: Value, frame: Frame) -> None:
        if name in frame.later:
            old = self.later.get(key, NOTHING)
            self.later[key] = join((old, value))
            self.changed |= self.later[key] != old
        elif self.store is not None:
            self.store.set(key, value)
            self.touch()

    def _nonlocal(self, name: str, value: Value, node: ast.AST) -> None:
        frame = self.frame.outer
        while frame is not None:
            if name in frame.locals:
                self._set((frame.key, name), name, value, frame)
                return
            if name in frame.cells:
                cell = frame.cells[name]
                self._change_name(Known(cell, Root("the captured", name)), (cell, ""), name, value, node)
                return
            frame = frame.outer

    def _change_name(self, owner: Known, place: tuple[object, str], name: str, value: Value, node: ast.AST) -> None:
        assert owner.root is not None
        self._change(owner.root, place, f"writes {owner.root}", node)
        self.put(owner, name if place[1] else ELEMENTS, value)

    # Paths.

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
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.expr(other)
            found = self.compare(op, left, right, node)
            left = right
        return found if len(node.ops) == 1 else BOOL

    # Displays and comprehensions.

    def _display(self, node: ast.List | ast.Tuple | ast.Set, elts: Sequence[ast.expr]) -> Value:
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        length: Count = (0, 0)
        values: list[Value] = []
        fixed = True
        for part in elts:
            if isinstance(part, ast.Starred):
                whole = self.expr(part.value)
                length, fixed = plus(length, self.length(whole)), False
                values.append(self.elements(whole, part, ordered=kind is not set))
            else:
                values.append(self.expr(part))
                length = plus(length, (1, 1))
        if kind is set and not self.plain(*values):
            self.unknown("a set compares objects with code of their own", node, *values)
        found = self.made(kind, node, join(values), length=length if kind is not set else ANY_NUMBER)
        if kind is tuple and fixed:
            item = only(found)
            assert isinstance(item, New)
            self.set_fields(item, dict(enumerate(values)))
        return found

    def _dict_display(self, node: ast.Dict, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Value:
        item = self.make(dict, node)
        fields: dict[Any, Value] | None = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                source = self.expr(value)
                more = self._fields_of(source)
                self.absorb(item, source, node)
                fields = None if fields is None or more is None else {**fields, **more}
                continue
            known, held = self.expr(key), self.expr(value)
            if not self.plain(known):
                self.unknown("a dict compares keys with code of their own", node, known)
            self.put(item, KEYS, known)
            self.put(item, ELEMENTS, held)
            name = literal(known)
            fields = None if fields is None or name is None else {**fields, name.value: held}
        self.set_fields(item, fields)
        return frozenset((item,))

    def _fields_of(self, value: Value) -> dict[Any, Value] | None:
        item = only(value)
        if not isinstance(item, New) or self.store is None:
            return None
        fields = self.store.fields(item)
        return None if fields is None else dict(fields)

    def _comprehension(self, node: Comprehension) -> Value:
        """A loop in a scope of its own. What a generator expression does happens when somebody takes from it."""
        kind = _KINDS[type(node)]
        item = New((self.frame.key, id(node), ""), kind)
        lazy = isinstance(node, ast.GeneratorExp)
        before = self.store
        assert before is not None
        scopes, was_lazy = self.frame.scopes, self.frame.lazy
        self.frame.scopes = [*scopes, {}]
        length = self._generate(node, 0, item, (1, 1))
        self.frame.scopes, self.frame.lazy = scopes, was_lazy
        self.store = meet((before, self.store)) if lazy else self.store
        if self.store is None:
            return NOTHING
        self.store.make(item, length if kind in (list, ITERATOR) else ANY_NUMBER)
        return frozenset((item,))

    def _generate(self, node: Comprehension, index: int, item: New, length: Count) -> Count:
        """One `for` of a comprehension, and those inside it; gives the number of elements."""
        if index == len(node.generators):
            self._element(node, item)
            return length
        generator = node.generators[index]
        if generator.is_async:
            self.unknown("is a coroutine", node)
        source = self.expr(generator.iter)
        taken = self.length(source)
        if isinstance(node, ast.GeneratorExp):
            self.frame.lazy = True
            if not all(isinstance(i, Known) or (isinstance(i, New) and i.type in (tuple, ITERATOR)) for i in source):
                taken = ANY_NUMBER  # it may be changed before it is used
        ordered = not isinstance(node, ast.SetComp)
        each = self.elements(source, generator.iter, ordered=ordered)
        names = {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
        scope = self.frame.scopes[-1]
        scope.update({name: (self.frame.key, id(node)) for name in names})
        head = self.store
        inner: Count = ANY_NUMBER
        for turn in range(4):
            if head is None:
                break
            self.store = head.copy()
            self.assign(generator.target, each, generator.iter)
            for test in generator.ifs:
                self.truth(self.expr(test), test)
            inner = self._generate(node, index + 1, item, (1, 1))
            after = meet((head, self.store))
            if after is None or after.same(head):
                break
            head = widened(head, after) if turn else after
        self.store = head
        if generator.ifs:
            inner = (0, inner[1])
        return taken[0] * inner[0], None if taken[1] is None or inner[1] is None else taken[1] * inner[1]

    def _element(self, node: Comprehension, item: New) -> None:
        if isinstance(node, ast.DictComp):
            key = self.expr(node.key)
            self.put(item, KEYS, key)
            self.put(item, ELEMENTS, self.expr(node.value))
            return
        found = self.expr(node.elt)
        self.put(item, ELEMENTS, found)
        copied = self.copied_of(found)
        if isinstance(node, ast.GeneratorExp):
            self.yielded[item] = both(self.yielded.get(item), copied)
        elif isinstance(node, ast.SetComp) and not self.plain(found):
            self.unknown("a set compares objects with code of their own", node, found)

    def _delegate(self, source: Value, node: ast.AST) -> Value:
        """`yield from`."""
        count = self.length(source)
        copied = self.copied_of_elements(source)
        self.yields(self.elements(source, node), copied, count, node)
        return UNKNOWN if not source else NONE

    # Functions.

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
        return frozenset((item,))

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
            fields = self._fields_of(whole)
            item = only(whole)
            if more is None and fields is not None and isinstance(item, New) and item.type is tuple:
                positional += [fields[i] for i in range(len(fields)) if i in fields]
            else:
                more = join((more or NOTHING, self.elements(whole, argument)))
        for keyword in node.keywords:
            value = self.expr(keyword.value)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif (fields := self._fields_of(value)) is not None and all(isinstance(k, str) for k in fields):
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

    # What emitted tuples are copies of.

    def copied_of(self, value: Value) -> Copied | None:
        """Of every tuple that a value may be: its attributes that are copies of attributes of the input tuple."""
        found: Copied | None = None
        for item in value:
            if isinstance(item, Known) and item.value is None:
                continue  # no tuple: it is refused
            one: Copied = {}
            fields = self.store.fields(item) if self.store is not None else None
            if isinstance(item, Row) and item.port >= 0:
                one = {name: (item.port, name) for name in item.type.names}
            elif fields is not None:
                one = {str(name): origin for name, v in fields.items() if (origin := _origin(v)) is not None}
            found = both(found, one)
        return found

    def copied_of_elements(self, value: Value) -> Copied | None:
        """The same of the elements of a value."""
        found: Copied | None = None
        for item in value:
            own = isinstance(item, New) and item in self.yielded
            found = both(found, self.yielded[item] if own else self.copied_of(self.contents(item)))  # type: ignore[index]
        return found


def _origin(value: Value) -> tuple[int, str] | None:
    item = only(value)
    return (item.port, item.name) if isinstance(item, Given) and item.name and item.port >= 0 else None
