"""Operators and comparisons, by the items of the operands."""

from __future__ import annotations

import ast
import collections
import enum
import types

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    BOOL,
    FLOAT,
    INT,
    PLAIN,
    PLAINS,
    SCALARS,
    STR,
    TREE,
    Anything,
    Bound,
    Given,
    InputTuple,
    Item,
    Known,
    New,
    Part,
    Value,
    classes_of,
    join,
    just,
    literal,
    types_of,
)
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.changes import alias_changed, mutate
from thalweg.analysis.program.contents import is_plain, look_into
from thalweg.analysis.program.machine import Machine, code_text
from thalweg.analysis.program.python_types import CONTAINERS, MUTATORS, is_built_in
from thalweg.analysis.program.stdlib.container_methods import call_method, changed, look_up

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
_SCALARS_AND_PLAIN = frozenset((*SCALARS, PLAIN))


def binary(m: Machine, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    if not left or not right:
        return m.lose("has an operand that cannot be analyzed", node)
    if not is_plain(m, left, right) or _has_objects(left | right):
        return _with_code(m, op, left, right, node)
    if isinstance(op, ast.Mod):
        look_up(m, right, node)
    kinds = {kind for item in left | right for kind in types_of(item) or (object,)}
    if kinds <= {int, bool}:
        return FLOAT if isinstance(op, ast.Div) else INT if not isinstance(op, ast.Pow) else PLAINS
    if kinds <= {int, bool, float}:
        return FLOAT if not isinstance(op, ast.Pow) else PLAINS
    if kinds <= {str} or (isinstance(op, ast.Mod) and all(types_of(i) == (str,) for i in left)):
        look_into(m, [left, right], node)
        growing = frozenset(i for i in right if collections.defaultdict in (types_of(i) or ()))
        if growing:
            mutate(m, growing, f"may insert into {ast.unparse(node)[:40]}", node)
        m.touch()
        return STR
    if kinds <= _SCALARS_AND_PLAIN:
        return PLAINS
    return _combined(m, op, left, right, node)


def _has_objects(value: Value) -> bool:
    """Whether an item is an object of a class, not data."""
    return any(
        isinstance(item, InputTuple)
        or (isinstance(item, New | Part) and not is_built_in(item.type))
        or (isinstance(item, Known) and not is_built_in(type(item.value)))
        for item in value
    )


def _combined(m: Machine, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
    """`+`, `*` and `|` of containers: a new container."""
    held = m.memory.contents_of(left | right)
    keys = join([m.memory.keys(item) for item in left | right])
    for item in left | right:
        m.look_at(item, node)
    found: list[Value] = [PLAINS]
    for item in left | right:
        for kind in types_of(item) or ():
            if kind in CONTAINERS or kind is TREE:
                tag = f"{type(op).__name__} {kind.__name__}"
                found.append(m.made(kind, node, held, tag=tag, keys=keys))
    return join(found)


def _with_code(m: Machine, op: ast.AST, left: Value, right: Value, node: ast.AST) -> Value:
    """Operands that define operators: their code is followed if it is written in Python."""
    name = _NAMES[type(op)]
    found: list[Value] = []
    for own, other, wanted in ((left, right, name), (right, left, _REFLECTED.get(name, f"r{name}"))):
        for item in own:
            for cls in classes_of(item):
                names = (wanted, "eq") if wanted == "ne" else (wanted,)
                methods = [live_objects.class_attribute(cls, f"__{one}__") for one in names]
                own_code = [method for method in methods if isinstance(method, types.FunctionType)]
                found += [m.call(just(Bound(method, item)), Args([other]), node) for method in own_code]
    compared = isinstance(op, ast.cmpop) and not isinstance(op, ast.In | ast.NotIn)
    if (found or compared) and all(_runs_no_more(m, item) for item in left | right):
        return join((*found, PLAINS))
    return m.unknown(_operator_text(node, left, right), node, left, right)


def _operator_text(node: ast.AST, *operands: Value) -> str:
    """What makes an operator impossible to follow: an operand of an unknown type, or one whose class defines it."""
    written = _operands(node)
    if len(written) == len(operands):
        for operand, value in zip(written, operands, strict=True):
            if any(isinstance(item, Anything) for item in value):
                return f"uses {code_text(node)}, where the type of {code_text(operand)} is unknown"
    names = sorted({cls.__name__ for value in operands for item in value for cls in classes_of(item)})
    whose = f" of {' and '.join(names)}" if names else ""
    return f"uses {code_text(node)}, an operator{whose} whose code cannot be analyzed"


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return [left, right]
        case ast.AugAssign(target=target, value=value):
            return [target, value]
        case ast.UnaryOp(operand=operand):
            return [operand]
    return []


def _runs_no_more(m: Machine, item: Item) -> bool:
    """Whether an operator runs no code of an operand except its method, and none of its elements."""
    if isinstance(item, Known) and isinstance(item.value, enum.Enum):
        return live_objects.is_plain(item.value.value)
    classes = classes_of(item)
    return is_plain(m, just(item)) or (bool(classes) and all(map(live_objects.is_python_class, classes)))


def unary(m: Machine, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
    """`-x`, `+x` and `~x`."""
    if not is_plain(m, value) or _has_objects(value):
        return m.unknown(_operator_text(node, value), node, value)
    one = literal(value)
    if one is not None and isinstance(op, ast.USub) and isinstance(one.value, int | float):
        return just(Known(-one.value))
    return PLAINS


def compare(m: Machine, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
    if isinstance(op, ast.Is | ast.IsNot):
        return BOOL
    a, b = literal(left), literal(right)
    if a is not None and b is not None and isinstance(op, ast.Eq | ast.NotEq):
        return just(Known((a.value == b.value) == isinstance(op, ast.Eq)))
    contained = isinstance(op, ast.In | ast.NotIn)
    if not is_plain(m, left, right):
        first, second = (right, left) if contained else (left, right)
        _with_code(m, op, first, second, node)
    elif any(isinstance(i, Known) and live_objects.has_own_metaclass(i.value) for i in left | right):
        m.unknown("compares with a class that cannot be analyzed", node, left, right)
    look_into(m, [left, right], node)
    for item in right if contained else ():  # `x in iterator` consumes it
        if isinstance(item, Known) and live_objects.is_iterator(item.value):
            m.elements(just(item), node)
    return BOOL


def in_place(m: Machine, op: ast.operator, owner: Value, value: Value, node: ast.AST) -> Value:
    """`x += y`: a mutable object is changed in place, any other object is replaced."""
    name = f"__i{_NAMES[type(op)]}__"
    found: list[Value] = []
    if not owner:
        m.lose("changes a value that cannot be analyzed", node)
    for item in owner:
        kinds = types_of(item) or ()
        if isinstance(item, Given) and list in kinds:
            continue  # cannot be changed
        if any(name in MUTATORS.get(kind, ()) for kind in kinds):
            call_method(m, item, name, Args([value]), node, surely=len(owner) == 1)
            alias_changed(m, item)
            found.append(just(item))
            if TREE not in kinds:
                continue
        methods = [live_objects.class_attribute(cls, name) for cls in classes_of(item)]
        if any(isinstance(method, types.FunctionType) for method in methods):
            mutate(m, just(item), f"changes {changed(node)}", node)
            found.append(m.unknown(_operator_text(node, just(item), value), node, just(item), value))
            continue
        found.append(binary(m, op, just(item), value, node))
    return join(found)
