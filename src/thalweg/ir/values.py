"""Values with parts, as columns carry them and as user functions see them.

Columns carry lists and nested tuples as plain tuples. These pickle without the user's classes, which a worker may not
be able to import, and they are immutable. User functions see immutable lists and instances of their own classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from thalweg.ir.types import AttributeType, TupleType


class FrozenList(list[Any]):
    """A list in a tuple. It is immutable, because other consumers of the stream may see the same object."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a list in a tuple cannot be changed: copy it with list(…)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (tuple(self),)


def carried(value: Any) -> Any:
    """A value as columns carry it."""
    if isinstance(value, list | tuple):
        return tuple([carried(v) for v in value])
    declared = getattr(value, "tuple_type", None)
    if isinstance(declared, TupleType):
        return tuple([carried(getattr(value, name)) for name in declared.names])
    return value


Reviver = Callable[[Any], Any]


def reviver(kind: AttributeType) -> Reviver:
    """A function that converts a carried value to what user functions see. Converted values stay unchanged."""
    if not kind.composite:
        return lambda value: value
    inner = _list_reviver(kind.required) if kind.required.item is not None else _tuple_reviver(kind.required)
    return inner if not kind.optional else lambda value: None if value is None else inner(value)


def _list_reviver(kind: AttributeType) -> Reviver:
    assert kind.item is not None
    if not kind.item.composite:
        return lambda value: value if type(value) is FrozenList else FrozenList(value)
    inner = reviver(kind.item)
    return lambda value: value if type(value) is FrozenList else FrozenList(map(inner, value))


def _tuple_reviver(kind: AttributeType) -> Reviver:
    assert kind.fields is not None
    assert kind.fields.python is not None, "only a declared tuple type can be nested"
    python, names = kind.fields.python, kind.fields.names
    inner = [reviver(k) for _, k in kind.fields.attributes]

    def revive(value: Any) -> Any:
        if type(value) is not tuple:
            return value
        made: Any = object.__new__(python)  # as for top-level tuples, the user's __init__ is not called
        for name, part, v in zip(names, inner, value, strict=True):
            setattr(made, name, part(v))
        return made

    return revive
