"""Operators, comparisons and subscripts, on what the operands may be."""

from __future__ import annotations

import ast
import collections
import types

from thalweg.analysis.program import outside
from thalweg.analysis.program.machine import ELEMENTS, KEYS, Args
from thalweg.analysis.program.objects import Objects
from thalweg.analysis.program.store import ANY_NUMBER
from thalweg.analysis.program.tables import CONTAINERS, MAPPINGS, MUTATORS, is_built_in
from thalweg.analysis.program.values import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Bound,
    Given,
    Item,
    Known,
    New,
    Of,
    Part,
    Row,
    Value,
    join,
    literal,
    types_of,
)

_NAMES: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.BitXor: "xor",
    ast.Pow: "pow",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.In: "contains",
    ast.NotIn: "contains",
}


class Operators(Objects):
    """What operators do."""

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        if not left or not right:
            return NOTHING
        if not self.plain(left, right) or self._has_operators(left, right):
            return self._with_code(op, left, right, node)
        kinds = {kind for item in left | right for kind in types_of(item) or (object,)}
        if kinds <= {int, bool}:
            return FLOAT if isinstance(op, ast.Div) else INT if not isinstance(op, ast.Pow) else PLAINS
        if kinds <= {int, bool, float}:
            return FLOAT if not isinstance(op, ast.Pow) else PLAINS
        if kinds <= {str} or (isinstance(op, ast.Mod) and all(types_of(i) == (str,) for i in left)):
            self.look_into([left, right], node)
            return STR
        if kinds <= {*SCALARS, PLAIN}:
            return PLAINS
        return self._combined(op, left, right, node)

    def _has_operators(self, *values: Value) -> bool:
        """Whether one of them is an object of a class, not data."""
        return any(
            isinstance(item, Row)
            or (isinstance(item, New | Part) and not is_built_in(item.type))
            or (isinstance(item, Known) and not is_built_in(type(item.value)))
            for value in values
            for item in value
        )

    def _combined(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """`+`, `*` and `|` of containers: a new one."""
        held = join(self.contents(item) for item in left | right)
        keys = join(self.keys(item) for item in left | right)
        for item in left | right:
            if isinstance(item, Known):
                self.place(item, node)
        found: list[Value] = [PLAINS]
        for item in left | right:
            for kind in types_of(item) or ():
                if kind in CONTAINERS or kind is TREE:
                    tag = f"{type(op).__name__} {kind.__name__}"
                    found.append(self.made(kind, node, held, tag=tag, keys=keys))
        return join(found)

    def _with_code(self, op: ast.AST, left: Value, right: Value, node: ast.AST) -> Value:
        """Operands with code of their own: it is followed where it is Python's."""
        name = _NAMES.get(type(op), "")
        found: list[Value] = []
        for own, other, wanted in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            for item in own:
                for cls in self.classes_of(item):
                    method = outside.class_attribute(cls, wanted)
                    if isinstance(method, types.FunctionType) and name:
                        found.append(self.call(frozenset((Bound(method, item),)), Args([other]), node))
        if found and all(
            outside.is_python_class(c) for i in left | right for c in self.classes_of(i) if not is_built_in(c)
        ):
            return join((*found, PLAINS))
        return self.unknown("an operator runs code that cannot be read", node, left, right)

    def unary(self, value: Value, node: ast.AST) -> Value:
        if not self.plain(value) or self._has_operators(value):
            return self.unknown("an operator runs code that cannot be read", node, value)
        one = literal(value)
        if one is not None and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return frozenset((Known(-one.value),)) if isinstance(one.value, int | float) else PLAINS
        return PLAINS

    def truth(self, value: Value, node: ast.AST) -> Value:
        """Whether something is true."""
        one = literal(value)
        if one is not None:
            return frozenset((Known(bool(one.value)),))
        for item in value:
            if isinstance(item, Known):
                self.place(item, node)
            for cls in self.classes_of(item):
                for name in ("__bool__", "__len__"):
                    method = outside.class_attribute(cls, name)
                    if isinstance(method, types.FunctionType):
                        self.call(frozenset((Bound(method, item),)), Args(), node)
                native = not outside.is_python_class(cls) and not is_built_in(cls)
                if native and not isinstance(item, Known):
                    self.unknown("asks something that cannot be read whether it is true", node, frozenset((item,)))
        return BOOL

    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(op, ast.Is | ast.IsNot):
            return BOOL
        a, b = literal(left), literal(right)
        if a is not None and b is not None and isinstance(op, ast.Eq | ast.NotEq):
            return frozenset((Known((a.value == b.value) == isinstance(op, ast.Eq)),))
        if not self.plain(left, right):
            self._with_code(op, right if isinstance(op, ast.In | ast.NotIn) else left, left, node)
        self.look_into([left, right], node)
        if isinstance(op, ast.In | ast.NotIn):
            self._uses_up(right, node)
        return BOOL

    def _uses_up(self, value: Value, node: ast.AST) -> None:
        """`x in iterator` takes from it."""
        for item in value:
            if isinstance(item, Known) and outside.is_iterator(item.value):
                self.elements(frozenset((item,)), node)

    # Subscripts.

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        return join(self._subscript(item, index, node) for item in owner)

    def _subscript(self, item: Item, index: Value, node: ast.AST) -> Value:
        at = literal(index)
        sliced = any(isinstance(i, Known) and isinstance(i.value, slice) for i in index)
        if not self.plain(index):
            self.unknown("an index runs code that cannot be read", node, index)
        match item:
            case Given(kind) if kind.required.item is not None:
                inner: Value = frozenset((Given(kind.required.item, "", -1),))
                return self.made(list, node, inner, tag="slice") if sliced else inner
            case Given() | Of():
                kinds = types_of(item)
                return STR if kinds == (str,) else INT if kinds == (bytes,) and not sliced else PLAINS
            case Known(value=value):
                self.place(item, node)
                if type(value) is collections.defaultdict:
                    return self.call_method(item, "__getitem__", Args([index]), node)
                if type(value) in (str, bytes):
                    return STR if isinstance(value, str) else PLAINS
                if at is not None and type(value) in (list, tuple, *MAPPINGS) and not sliced:
                    return self._peek(item, at)
            case New(_, kind) if kind is tuple and at is not None and self.store is not None:
                fields = self.store.fields(item)
                if fields is not None and isinstance(at.value, int):
                    size = sum(isinstance(n, int) for n in fields)
                    return fields.get(at.value if at.value >= 0 else size + at.value, NOTHING)
            case New(_, kind) if kind in MAPPINGS and at is not None and self.store is not None:
                fields = self.store.fields(item)
                if fields is not None and at.value in fields:
                    return fields[at.value]
                if kind is collections.defaultdict:
                    return self.call_method(item, "__getitem__", Args([index]), node)
            case New(_, kind) | Part(_, kind) if kind is collections.defaultdict:
                return self.call_method(item, "__getitem__", Args([index]), node)
        kinds = types_of(item)
        if kinds is None or not all(is_built_in(kind) for kind in kinds):
            return self._own_subscript(item, index, node)
        held = self.contents(item)
        if sliced and any(kind in (list, tuple, TREE, collections.deque) for kind in kinds):
            return join((held if TREE in kinds else NOTHING, self.made(kinds[0], node, held, tag="slice")))
        return held

    def _peek(self, item: Known, at: Known) -> Value:
        """The element that is there now; what the program changes, it must not be run in parallel with."""
        try:
            found = item.value[at.value]  # type: ignore[index]
        except (LookupError, TypeError):
            return self.get(item, ELEMENTS)
        return join((frozenset((Known(found, item.root),)), self.get(item, ELEMENTS)))

    def _own_subscript(self, item: Item, index: Value, node: ast.AST) -> Value:
        for cls in self.classes_of(item):
            method = outside.class_attribute(cls, "__getitem__")
            if isinstance(method, types.FunctionType):
                return self.call(frozenset((Bound(method, item),)), Args([index]), node)
        return self.unknown("takes an element of something that cannot be read", node, frozenset((item,)), index)

    def set_subscript(self, owner: Value, index: Value, value: Value, node: ast.AST, shown: str) -> None:
        self.mutate(owner, f"writes {shown}", node)
        at = literal(index)
        if not self.plain(index):
            self.unknown("an index runs code that cannot be read", node, index)
        for item in owner:
            if isinstance(item, Given):
                continue  # the list of a tuple refuses: an exception
            kinds = types_of(item)
            if kinds is None or not all(is_built_in(kind) for kind in kinds):
                self.unknown("writes an element of something that cannot be read", node, frozenset((item,)), value)
            self.put(item, ELEMENTS, join((value, *(self.contents(i) for i in value if at is None))))
            self.put(item, KEYS, index)
            if isinstance(item, New) and self.store is not None:
                surely = len(owner) == 1
                if at is not None and item.type in MAPPINGS:
                    self.store.set_field(item, at.value, value, surely=surely)
                elif item.type in MAPPINGS:
                    self.store.replace_fields(item, None)
                if item.type not in (list,) or not (at is not None and isinstance(at.value, int)):
                    self.store.set_length(item, ANY_NUMBER, surely=False)
        self.touch()

    def in_place(self, op: ast.operator, owner: Value, value: Value, node: ast.AST) -> Value:
        """`x += y`: a mutable object is changed, of others a new one is made."""
        name = f"__i{_NAMES.get(type(op), '')}__"
        found: list[Value] = []
        for item in owner:
            kinds = types_of(item) or ()
            if isinstance(item, Given) and list in kinds:
                continue  # refuses to change
            if any(name in MUTATORS.get(kind, ()) for kind in kinds):
                self.call_method(item, name, Args([value]), node, surely=len(owner) == 1)
                found.append(frozenset((item,)))
                if TREE not in kinds:
                    continue
            methods = [outside.class_attribute(cls, name) for cls in self.classes_of(item)]
            if any(isinstance(m, types.FunctionType) for m in methods):
                self.mutate(frozenset((item,)), f"changes {self.shown(node)}", node)
                found.append(self.unknown("an operator runs code that cannot be read", node, frozenset((item,)), value))
                continue
            found.append(self.binary(op, frozenset((item,)), value, node))
        return join(found)
