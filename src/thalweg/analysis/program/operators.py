"""Operators and comparisons, on what the operands may be."""

from __future__ import annotations

import ast
import collections
import enum
import types

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args
from thalweg.analysis.program.objects import Objects
from thalweg.analysis.program.tables import CONTAINERS, MUTATORS, is_built_in
from thalweg.analysis.program.values import (
    BOOL,
    FLOAT,
    INT,
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
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.In: "contains",
    ast.NotIn: "contains",
}

_REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


class Operators(Objects):
    """What operators do."""

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        if not left or not right:
            return self.lose("an operand is something that cannot be read", node)
        if not self.plain(left, right) or self._has_operators(left, right):
            return self._with_code(op, left, right, node)
        if isinstance(op, ast.Mod):
            self.look_up(right, node)
        kinds = {kind for item in left | right for kind in types_of(item) or (object,)}
        if kinds <= {int, bool}:
            return FLOAT if isinstance(op, ast.Div) else INT if not isinstance(op, ast.Pow) else PLAINS
        if kinds <= {int, bool, float}:
            return FLOAT if not isinstance(op, ast.Pow) else PLAINS
        if kinds <= {str} or (isinstance(op, ast.Mod) and all(types_of(i) == (str,) for i in left)):
            self.look_into([left, right], node)
            growing = frozenset(i for i in right if collections.defaultdict in (types_of(i) or ()))
            self.mutate(growing, f"may insert into {ast.unparse(node)[:40]}", node)
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
        for own, other, wanted in ((left, right, name), (right, left, _REFLECTED.get(name, f"r{name}"))):
            for item in own:
                for cls in self.classes_of(item):
                    names = (wanted, "eq") if wanted == "ne" else (wanted,)
                    methods = [outside.class_attribute(cls, f"__{one}__") for one in names if name]
                    own_code = [m for m in methods if isinstance(m, types.FunctionType)]
                    found += [self.call(frozenset((Bound(m, item),)), Args([other]), node) for m in own_code]
        compared = isinstance(op, ast.cmpop) and not isinstance(op, ast.In | ast.NotIn)
        if (found or compared) and all(self._runs_no_more(item) for item in left | right):
            return join((*found, PLAINS))
        return self.unknown("an operator runs code that cannot be read", node, left, right)

    def _runs_no_more(self, item: Item) -> bool:
        """Whether an operator runs no other code of an operand than its own method: not that of elements either."""
        if isinstance(item, Known) and isinstance(item.value, enum.Enum):
            return outside.is_plain(item.value.value)
        classes = self.classes_of(item)
        return self.plain(frozenset((item,))) or (bool(classes) and all(map(outside.is_python_class, classes)))

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
            first, second = (right, left) if isinstance(op, ast.In | ast.NotIn) else (left, right)
            self._with_code(op, first, second, node)
        elif any(map(outside.has_own_metaclass, _values(left | right))):
            self.unknown("asks a class that cannot be read", node, left, right)
        self.look_into([left, right], node)
        if isinstance(op, ast.In | ast.NotIn):
            self._uses_up(right, node)
        return BOOL

    def _uses_up(self, value: Value, node: ast.AST) -> None:
        """`x in iterator` takes from it."""
        for item in value:
            if isinstance(item, Known) and outside.is_iterator(item.value):
                self.elements(frozenset((item,)), node)

    def in_place(self, op: ast.operator, owner: Value, value: Value, node: ast.AST) -> Value:
        """`x += y`: a mutable object is changed, of others a new one is made."""
        name = f"__i{_NAMES.get(type(op), '')}__"
        found: list[Value] = []
        if not owner:
            self.lose("changes something that cannot be read", node)
        for item in owner:
            kinds = types_of(item) or ()
            if isinstance(item, Given) and list in kinds:
                continue  # refuses to change
            if any(name in MUTATORS.get(kind, ()) for kind in kinds):
                self.call_method(item, name, Args([value]), node, surely=len(owner) == 1)
                self.alias_changed(item)
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


def _values(value: Value) -> list[object]:
    return [item.value for item in value if isinstance(item, Known)]
