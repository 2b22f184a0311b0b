"""`tw.Tuple`: the base class for the declaration of tuple types."""

from __future__ import annotations

import inspect
import keyword
import sys
import typing
from collections.abc import Iterable
from types import FrameType, SimpleNamespace
from typing import Any, ClassVar

from thalweg.errors import GraphError, Where, shown
from thalweg.ir.arguments import checked
from thalweg.ir.types import AttributeType, TupleType
from thalweg.ir.user_calls import call_place, user_frame
from thalweg.lang.annotations import attribute_type


class Tuple:
    """Base of tuple types: subclass it and annotate the attributes.

    class Tick(tw.Tuple):
        symbol: str
        price: float

    A subclass of a tuple type also has its attributes, before its own; a subclass of several types has those of all.
    """

    tuple_type: ClassVar[TupleType]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # The runtime derives row classes from one class, without new attributes. A class that is restored from a pickle
        # has no frame of its module, starts empty, and gets all its attributes afterwards.
        several = len(_tuple_bases(cls)) > 1 and _class_frame(cls) is not None
        if "__annotations__" in cls.__dict__ or several:
            cls.tuple_type = _read_annotations(cls)
            if getattr(cls.__init__, "made_by_thalweg", False):
                cls.__init__ = _initializer(cls.tuple_type.names)  # type: ignore[method-assign]

    def __init__(self, *values: object, **named: object) -> None:
        """Takes the attributes, by position or by name; each tuple type gets its own `__init__`."""
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

    __repr__.made_by_thalweg = True  # type: ignore[attr-defined]


def _initializer(names: tuple[str, ...]) -> Any:
    """An `__init__` as if written by hand, because it must be fast: user functions make a tuple for every tuple."""
    body = "; ".join(f"self.{name} = {name}" for name in names) or "pass"
    namespace: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}): {body}", namespace)
    made = namespace["__init__"]
    made.made_by_thalweg = True
    return made


def plain(cls: type[Tuple]) -> bool:
    """Whether calling the class just sets the attributes."""
    names = ("__new__", "__setattr__", "__getattribute__")
    return (
        getattr(cls.__init__, "made_by_thalweg", False)
        and all(getattr(cls, name) is getattr(object, name) for name in names)
        and not any(hasattr(inspect.getattr_static(cls, name, None), "__set__") for name in cls.tuple_type.names)
    )


@checked
def concat(name: str, *parts: type[Tuple]) -> type[Tuple]:
    """A tuple type with the attributes of several, in order: short for `class Name(A, B): pass`."""
    frame = user_frame()
    for part in parts:
        if not (isinstance(part, type) and issubclass(part, Tuple) and part is not Tuple):
            raise GraphError(
                "not a tuple type", where=call_place(frame), expected="subclasses of tw.Tuple", found=shown(part)
            )
    if not parts or len(set(parts)) != len(parts):
        found = ", ".join(part.__name__ for part in parts) or "none"
        raise GraphError(
            "concat needs different tuple types", where=call_place(frame), expected="one type or more", found=found
        )
    if not name.isidentifier():
        raise GraphError("concat: bad name", where=call_place(frame), expected="a Python identifier", found=shown(name))
    try:
        # Its module is the caller's, so that a worker that can import the module finds the class there.
        return type(name, parts, {"__module__": frame.f_globals.get("__name__", "__main__")})
    except TypeError as error:  # one of them extends another
        raise GraphError(f"{name} cannot be made from these types: {error}", where=call_place(frame)) from None


def _tuple_bases(cls: type) -> list[type[Tuple]]:
    return [base for base in cls.__bases__ if issubclass(base, Tuple) and base is not Tuple]


def _read_annotations(cls: type[Tuple]) -> TupleType:
    frame = _class_frame(cls)
    where = call_place(frame) if frame is not None else None
    attributes: dict[str, AttributeType] = {}
    owners: dict[str, type] = {}

    def add(name: str, kind: AttributeType, owner: type) -> None:
        if owners.setdefault(name, owner) is not owner:
            raise GraphError(
                f"tuple type {cls.__name__} has {name} twice",
                where=where,
                expected="a different name for each attribute",
                found=f"{name} of {owners[name].__name__} and of {owner.__name__}",
            )
        attributes[name] = kind

    for base in _tuple_bases(cls):
        for name, kind in getattr(base, "tuple_type", TupleType(base.__name__, ())).attributes:
            add(name, kind, next(c for c in base.__mro__ if name in inspect.get_annotations(c)))
    for name, hint in _own_hints(cls, frame, where).items():
        add(name, attribute_type(hint, f"attribute {name} of {cls.__name__}", where), cls)
        # Neither files nor calls would use a default value.
        if name in vars(cls) and getattr(cls.__init__, "made_by_thalweg", False):
            raise GraphError(
                f"attribute {name} of {cls.__name__} has a default value",
                where=where,
                expected="an annotation alone",
                found=f"{name} = {shown(vars(cls)[name])}",
                hint="declare it as `T | None` if it may be missing, and replace None in a .map()",
            )
    check_names(attributes, cls.__name__, where)
    return TupleType(cls.__name__, tuple(attributes.items()), cls)


def _own_hints(cls: type[Tuple], frame: FrameType | None, where: Where | None) -> dict[str, Any]:
    own = SimpleNamespace(__annotations__=inspect.get_annotations(cls))  # without those of its bases
    module = vars(sys.modules[cls.__module__]) if frame is None else frame.f_globals
    try:
        # A class that is defined in a function is found among the function's variables.
        return typing.get_type_hints(own, module, {} if frame is None else dict(frame.f_locals))
    except (NameError, TypeError, SyntaxError) as error:
        raise GraphError(f"tuple type {cls.__name__}: {error}", where=where) from None


def check_names(names: Iterable[str], owner: str, where: Where | None) -> None:
    """Attributes are read as `t.name` and must not hide the attributes that every tuple has."""
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise GraphError(f"bad attribute name {name!r} of {owner}", where=where, expected="a Python identifier")
        if name.startswith("_") or name in ("self", *Tuple.__annotations__) or hasattr(Tuple, name):
            raise GraphError(
                f"attribute name {name} of {owner} is reserved",
                where=where,
                expected="a name that does not start with _, is not self and is not an attribute of tw.Tuple",
            )


def _class_frame(cls: type) -> FrameType | None:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals.get("__name__") != cls.__module__:
        frame = frame.f_back
    return frame
