"""Attribute types and tuple types."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from thalweg.errors import GraphError, Where, did_you_mean, shown

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, repr=False)
class AttributeType:
    """The type of one attribute. `int` is 64 bits wide: a value outside is an error, never a wrap.

    Types without parts are singletons, also after a journey to a worker, so `kind is INT` is right. Types with parts
    (`optional`, `list_of`, `nested`) are compared by `==`.
    """

    kind: str
    item: AttributeType | None = None  # of a list, or what may be missing
    fields: TupleType | None = None  # of a nested tuple

    INT: ClassVar[AttributeType]
    FLOAT: ClassVar[AttributeType]
    STR: ClassVar[AttributeType]
    BOOL: ClassVar[AttributeType]

    @property
    def name(self) -> str:
        return self.kind.upper()

    @property
    def optional(self) -> bool:
        return self.kind == "optional"

    @property
    def required(self) -> AttributeType:
        """The type of the values that are not missing."""
        return self.item if self.kind == "optional" and self.item is not None else self

    @property
    def boxed(self) -> bool:
        """Whether a column of it holds Python values."""
        return self.kind not in ("int", "float", "str", "bool")

    @property
    def composite(self) -> bool:
        """Whether its values have parts, which travel as plain tuples."""
        return self.required.kind in ("list", "tuple")

    def __str__(self) -> str:
        match self:
            case AttributeType("optional", item):
                return f"{item} | None"
            case AttributeType("list", item):
                return f"list[{item}]"
            case AttributeType("tuple", fields=TupleType(name)):
                return name
        return self.kind

    def __repr__(self) -> str:
        """With all parts of nested tuples: fingerprints of stored state are made of it."""
        match self:
            case AttributeType("optional" | "list" as word, item):
                return f"<{word} of {item!r}>"
            case AttributeType("tuple", fields=fields):
                return f"<{fields!r}>"
        return f"<AttributeType.{self.name}: {self.kind!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.kind, self.item, self.fields)


INT, FLOAT, STR, BOOL = (AttributeType(kind) for kind in ("int", "float", "str", "bool"))
BYTES, DATETIME, DATE, DECIMAL = (AttributeType(kind) for kind in ("bytes", "datetime", "date", "Decimal"))
AttributeType.INT, AttributeType.FLOAT, AttributeType.STR, AttributeType.BOOL = INT, FLOAT, STR, BOOL

# Of literals and captured values in expressions.
PYTHON_TYPES: Mapping[type, AttributeType] = {int: INT, float: FLOAT, str: STR, bool: BOOL}
# Of attributes.
SCALAR_TYPES: Mapping[type, AttributeType] = {
    **PYTHON_TYPES,
    bytes: BYTES,
    datetime: DATETIME,
    date: DATE,
    Decimal: DECIMAL,
}
_BY_KIND = {kind.kind: kind for kind in SCALAR_TYPES.values()}


def _restored(kind: str, item: AttributeType | None, fields: TupleType | None) -> AttributeType:
    return _BY_KIND[kind] if kind in _BY_KIND else AttributeType(kind, item, fields)


def optional(kind: AttributeType) -> AttributeType:
    """`kind | None`."""
    return kind if kind.optional else AttributeType("optional", kind)


def list_of(item: AttributeType) -> AttributeType:
    return AttributeType("list", item)


def nested(fields: TupleType) -> AttributeType:
    return AttributeType("tuple", fields=fields)


@dataclass(frozen=True, slots=True)
class TupleType:
    """Named, typed attributes, in order."""

    name: str
    attributes: tuple[tuple[str, AttributeType], ...]
    # The user's class, where one was declared: its methods are there for opaque functions.
    python: type | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.attributes):
            raise ValueError(f"tuple type {self.name}: attribute names repeat: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.attributes)

    def get(self, name: str) -> AttributeType | None:
        return dict(self.attributes).get(name)

    def kind(self, name: str) -> AttributeType:
        """The type of an attribute that is known to be there."""
        return dict(self.attributes)[name]

    def same_attributes(self, other: TupleType) -> bool:
        return self.attributes == other.attributes

    def classes(self) -> Iterator[type | None]:
        """The user's classes of this type and of all tuples in it: equal types may have different ones."""
        yield self.python
        for _, kind in self.attributes:
            while kind.item is not None:
                kind = kind.item
            if kind.fields is not None:
                yield from kind.fields.classes()

    @property
    def shown(self) -> str:
        """The attributes, without the type's own name."""
        return ", ".join(f"{name}: {kind}" for name, kind in self.attributes)

    def __str__(self) -> str:
        return f"{self.name}({self.shown})"


def accepts(declared: AttributeType, found: AttributeType) -> bool:
    """Whether every value of one type can stand where another is declared."""
    if found.optional and not declared.optional:
        return False
    match declared.required, found.required:
        case a, b if a == b or (a is FLOAT and b is INT):
            return True
        case AttributeType("list", AttributeType() as a), AttributeType("list", AttributeType() as b):
            return accepts(a, b)
        case AttributeType(fields=TupleType(_, a)), AttributeType(fields=TupleType(_, b)):
            return [n for n, _ in a] == [n for n, _ in b] and all(
                accepts(x, y) for (_, x), (_, y) in zip(a, b, strict=True)
            )
    return False


def conform(value: object, kind: AttributeType, path: str = "") -> object:
    """The value as this attribute type, or a TypeError / OverflowError that names the path to the part that is wrong.

    An int is accepted where a float is declared, as in Python's own typing; nothing else is converted. Lists and nested
    tuples become plain tuples, which columns hold, so that later changes of a list cannot change the stream.
    """
    if kind is FLOAT:
        if type(value) is float:
            return value
        if type(value) is int:
            try:
                return float(value)
            except OverflowError as error:
                raise OverflowError(f"{_at(path)}{error}") from None
    elif kind is INT:
        if type(value) is int:
            if INT64_MIN <= value <= INT64_MAX:
                return value
            raise OverflowError(f"{_at(path)}{shown(value)} does not fit into a 64-bit int")
    elif kind is STR:
        if type(value) is str:
            if not value.isascii():
                value.encode()  # a lone surrogate has no encoding, so no file and no frame could hold it
            return value
    elif kind is BOOL:
        if type(value) is bool:
            return value
    elif kind.item is not None or kind.fields is not None:
        return _conform_parts(value, kind, path)
    elif SCALAR_TYPES.get(type(value)) is kind:
        _check_scalar(value, path)
        return value
    raise _misfit(value, kind, path)


def _at(path: str) -> str:
    return f"{path.removeprefix('.')}: " if path else ""


def _misfit(value: object, kind: AttributeType | TupleType, path: str) -> TypeError:
    hint = f"; declare `{kind} | None` if it may be missing" if value is None else ""
    return TypeError(f"{_at(path)}expected {kind}, found {type(value).__name__} ({shown(value)}){hint}")


def _check_scalar(value: object, path: str) -> None:
    """Refuse what could not travel, or could not even be compared."""
    if isinstance(value, datetime) and value.tzinfo is not None and not _can_travel(value.tzinfo):
        raise TypeError(f"{_at(path)}expected a time zone of `datetime` or `zoneinfo`, found {value.tzinfo!r}")
    if isinstance(value, Decimal) and value.is_snan():
        raise TypeError(f"{_at(path)}expected Decimal, found a signaling NaN")


@lru_cache(maxsize=256)
def _can_travel(zone: object) -> bool:
    if type(zone) is ZoneInfo:
        try:
            zone.__reduce__()
        except pickle.PicklingError:  # read from a stream: no other process could find it by its name
            return False
        return True
    return type(zone) is timezone


def _conform_parts(value: Any, kind: AttributeType, path: str) -> object:
    if kind.optional:
        return None if value is None else conform(value, kind.required, path)
    if kind.item is not None:
        if isinstance(value, list) or type(value) is tuple:
            return _conform_each(value, [kind.item] * len(value), lambda i: f"{path}[{i}]")
        raise _misfit(value, kind, path)
    assert kind.fields is not None
    names, kinds = kind.fields.names, [k for _, k in kind.fields.attributes]
    if type(value) is tuple and len(value) == len(names):
        values: Sequence[object] = value
    elif isinstance(value, Mapping) and value.keys() == set(names):
        values = [value[name] for name in names]
    elif all(hasattr(value, name) for name in names):
        values = [getattr(value, name) for name in names]
    else:
        raise _misfit(value, kind.fields, path)
    return _conform_each(values, kinds, lambda i: f"{path}.{names[i]}")


def _conform_each(
    values: Sequence[object], kinds: Sequence[AttributeType], path_of: Callable[[int], str]
) -> tuple[object, ...]:
    done: list[object] = []
    try:
        for value, kind in zip(values, kinds, strict=True):
            done.append(conform(value, kind))
    except (TypeError, OverflowError):  # only now its path is worth a string
        failed = len(done)
        conform(values[failed], kinds[failed], path_of(failed))
        raise
    return tuple(done)


class UnknownAttribute(GraphError):
    """An attribute that the tuples of a stream do not have."""

    def __init__(self, attribute: str, tuple_type: TupleType, where: Where) -> None:
        super().__init__(
            f"unknown attribute {attribute or repr(attribute)}",
            where=where,
            expected=f"one of {', '.join(tuple_type.names)}",
            found=attribute or repr(attribute),
            hint=did_you_mean(attribute, tuple_type.names),
        )
        self.attribute = attribute


def unknown_attribute(name: str, tuple_type: TupleType, where: Where) -> UnknownAttribute:
    return UnknownAttribute(name, tuple_type, where)
