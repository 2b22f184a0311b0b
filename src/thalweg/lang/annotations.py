"""Convert Python annotations to attribute types."""

from __future__ import annotations

import types
import typing
from typing import Any

from thalweg.errors import GraphError, Where
from thalweg.ir.types import SCALAR_TYPES, AttributeType, TupleType, list_of, nested, optional

_KNOWN = f"{', '.join(t.__name__ for t in SCALAR_TYPES)}, T | None, list[T] or a subclass of tw.Tuple"


def attribute_type(hint: Any, owner: str, where: Where | None) -> AttributeType:
    """The type that an annotation of a tuple class declares; `owner` names the attribute in errors."""
    found = _scalar(hint) or _tuple(hint)
    if found is not None:
        return found
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union) and types.NoneType in arguments and len(arguments) == 2:
        (inner,) = (a for a in arguments if a is not types.NoneType)
        return optional(attribute_type(inner, owner, where))
    if origin is list and len(arguments) == 1:
        return list_of(attribute_type(arguments[0], owner, where))
    raise GraphError(f"{owner} has an unknown type", where=where, expected=_KNOWN, found=_text(hint), hint=_hint(hint))


def _scalar(hint: Any) -> AttributeType | None:
    return SCALAR_TYPES.get(hint) if isinstance(hint, type) else None


def _tuple(hint: Any) -> AttributeType | None:
    declared = getattr(hint, "tuple_type", None) if isinstance(hint, type) else None
    return nested(declared) if isinstance(declared, TupleType) and declared.attributes else None


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _hint(hint: Any) -> str | None:
    origin = typing.get_origin(hint) or hint
    if origin is list or origin in (tuple, set, frozenset):
        return "list[T] holds several values of one type"
    if origin is dict:
        return "declare the parts as a separate tw.Tuple, or use a list of them"
    if origin in (types.UnionType, typing.Union):
        return "a value has one type; only None is allowed in addition"
    return None
