"""`tw.Tuple`: how a user declares a tuple type."""

from __future__ import annotations

import keyword
import sys
import typing
from collections.abc import Iterable
from typing import Any, ClassVar

from thalweg.errors import GraphError, Where
from thalweg.ir.types import PYTHON_TYPES, TupleType


class Tuple:
    """Base of tuple types: subclass it and annotate the attributes.

    class Tick(tw.Tuple):
        symbol: str
        price: float
    """

    tuple_type: ClassVar[TupleType]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__annotations__" in cls.__dict__:  # the runtime derives row classes that declare nothing new
            cls.tuple_type = _read_annotations(cls)
            if getattr(cls.__init__, "made_by_thalweg", False):
                cls.__init__ = _initializer(cls.tuple_type.names)  # type: ignore[method-assign]

    def __init__(self, *values: object, **named: object) -> None:
        """Takes the attributes, by position or by name: each tuple type gets its own."""
        raise TypeError(f"{type(self).__name__} declares no attributes")

    __init__.made_by_thalweg = True  # type: ignore[attr-defined]

    def _values(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.tuple_type.names if hasattr(self, name)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash(tuple(self._values().values()))

    def __repr__(self) -> str:
        return f"{self.tuple_type.name}({', '.join(f'{n}={v!r}' for n, v in self._values().items())})"


def _initializer(names: tuple[str, ...]) -> Any:
    """An `__init__` as one would write it by hand: user functions make a tuple at every tuple."""
    body = "; ".join(f"self.{name} = {name}" for name in names) or "pass"
    namespace: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}): {body}", namespace)
    made = namespace["__init__"]
    made.made_by_thalweg = True
    return made


def plain(cls: type[Tuple]) -> bool:
    """Whether calling the class just sets the attributes."""
    return getattr(cls.__init__, "made_by_thalweg", False) and cls.__new__ is object.__new__


def _read_annotations(cls: type[Tuple]) -> TupleType:
    where = _class_place(cls)
    try:
        hints = typing.get_type_hints(cls, include_extras=False)
    except NameError as error:
        raise GraphError(f"tuple type {cls.__name__}: {error}", where=where) from None
    attributes = []
    for name, hint in hints.items():
        if name == "tuple_type":
            continue
        kind = PYTHON_TYPES.get(hint)
        if kind is None:
            known = ", ".join(t.__name__ for t in PYTHON_TYPES)
            found = getattr(hint, "__name__", str(hint))
            raise GraphError(
                f"attribute {name} of {cls.__name__} has an unknown type", where=where, expected=known, found=found
            )
        attributes.append((name, kind))
    check_names((name for name, _ in attributes), cls.__name__, where)
    return TupleType(cls.__name__, tuple(attributes), cls)


def check_names(names: Iterable[str], owner: str, where: Where | None) -> None:
    """Attributes are read as `t.name` and must not hide what every tuple has."""
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GraphError(f"bad attribute name {name!r} of {owner}", where=where, expected="a Python identifier")
        if name.startswith("_") or name == "self" or hasattr(Tuple, name):
            raise GraphError(
                f"attribute name {name} of {owner} is reserved",
                where=where,
                expected="a name that does not start with _, is not self and is no attribute of tw.Tuple",
            )


def _class_place(cls: type) -> Where | None:
    frame = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != cls.__module__:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Where(frame.f_code.co_filename, frame.f_lineno)
