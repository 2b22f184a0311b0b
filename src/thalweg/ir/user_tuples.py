"""Tuples as user functions see them, and conversion of their results to the declared types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thalweg.ir.types import TupleType, conform
from thalweg.ir.values import reviver

_classes: dict[tuple[TupleType, tuple[type | None, ...], tuple[str, ...]], type] = {}

# A cache by identity, because hashing a type costs more than making a row. It holds the type, so no id is reused.
_recent: dict[tuple[int, tuple[str, ...]], tuple[TupleType, type]] = {}
_MANY = 1_000


def row_maker(tuple_type: TupleType, names: Sequence[str]) -> type:
    """A class for tuples with these attributes, derived from the user's class if there is one.

    It takes values as columns carry them (or as user functions see them) and stores them as user functions see them.
    """
    names = tuple(names)
    recent = _recent.get((id(tuple_type), names))
    if recent is not None:
        return recent[1]
    wanted = tuple_type, tuple(tuple_type.classes()), names
    if wanted not in _classes:
        _classes[wanted] = _make(tuple_type, names)
    if len(_recent) >= _MANY:  # every new program creates new, equal types
        _recent.clear()
    _recent[id(tuple_type), names] = tuple_type, _classes[wanted]
    return _classes[wanted]


def _make(tuple_type: TupleType, names: tuple[str, ...]) -> type:
    revivers = {n: reviver(kind) for n, kind in tuple_type.attributes if kind.composite}
    body = "; ".join(f"self.{n} = _{n}({n})" if n in revivers else f"self.{n} = {n}" for n in names) or "pass"
    namespace: dict[str, Any] = {f"_{n}": revive for n, revive in revivers.items()}
    exec(f"def __init__(self, {', '.join(names)}): {body}", namespace)
    members: dict[str, Any] = {"__slots__": names, "__init__": namespace["__init__"], "tuple_type": tuple_type}
    if tuple_type.python is None:
        members["__repr__"] = lambda row: f"{tuple_type.name}({', '.join(f'{n}={getattr(row, n)!r}' for n in names)})"
    bases = (tuple_type.python,) if tuple_type.python else ()
    return type(tuple_type.name, bases, members)


def shows_attributes(tuple_type: TupleType) -> bool:
    """Whether the text of a tuple is that of its attributes: the user's class has no text of its own."""
    cls = tuple_type.python
    return cls is None or getattr(cls.__repr__, "made_by_thalweg", False)


def unpack(result: Any, tuple_type: TupleType) -> tuple[Any, ...]:
    """Convert the result of a user function (a dict, or an object with the attributes) to the declared types."""
    if isinstance(result, Mapping):
        if result.keys() != set(tuple_type.names):
            raise TypeError(
                f"expected the attributes {', '.join(tuple_type.names)}, found {', '.join(map(str, result))}"
            )
        return tuple(conform(result[name], kind, name) for name, kind in tuple_type.attributes)
    if all(hasattr(result, name) for name in tuple_type.names):
        return tuple(conform(getattr(result, name), kind, name) for name, kind in tuple_type.attributes)
    raise TypeError(f"expected a dict or a tuple with {', '.join(tuple_type.names)}, found {result!r}")
