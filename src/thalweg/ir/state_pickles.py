"""How state is pickled. Tuples inside it are stored by the name of their type: the classes of rows are generated at run
time. A class that cannot be imported is stored by its name, too.

Functions of the application are rejected: workers cannot import them, and state must not contain code. So are secrets.
"""

from __future__ import annotations

import copy
import io
import pickle
import types
from collections.abc import Mapping
from typing import Any

from thalweg.errors import GraphError, Where, summary
from thalweg.ir.logic import Logic
from thalweg.ir.secret import is_secret
from thalweg.ir.sent_code import is_found, is_imported
from thalweg.ir.types import TupleType

CLASS = "class"
HINT = "keep plain data in the state; return files, connections and locks from `setup`: they are `self.resource`"


def type_name(tuple_type: TupleType) -> str:
    return str(tuple_type)


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, type):
            return None if is_found(obj) else (CLASS, (), obj.__qualname__)
        if isinstance(obj, types.FunctionType) and not is_imported(obj):
            raise pickle.PicklingError(f"{obj.__qualname__} is a function of the application")
        if is_secret(obj):
            raise pickle.PicklingError("it has a secret; a secret in an attribute of its own is not stored")
        tuple_type = getattr(type(obj), "tuple_type", None)
        if not isinstance(tuple_type, TupleType):
            return None
        names = tuple(n for n in tuple_type.names if hasattr(obj, n))
        return type_name(tuple_type), names, dumps(tuple(getattr(obj, n) for n in names))


def dumps(value: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(value)
    return out.getvalue()


def not_storable(attributes: Mapping[str, Any]) -> tuple[str, Exception] | None:
    """The first of an object's attributes that cannot be stored, and why."""
    for name, value in attributes.items():
        try:
            dumps(value)
        except Exception as error:  # an object's own code may raise anything when it is pickled
            return name, error
    return None


def check_initial_state(logic: Logic, operator: str, where: Where) -> None:
    """Reject an operator whose state cannot be stored at the end of its first epoch. What is shared by all keys
    (functions, numbers) is not stored: it follows the program."""
    for name, value in logic.__dict__.items():
        try:
            if (copied := copy.deepcopy(value)) is not value:
                dumps(copied)
        except Exception as error:  # an object's own code may raise anything when it is copied
            raise GraphError(
                f"the state of {operator} cannot be stored: {name} cannot be pickled",
                operator=operator,
                where=where,
                expected="values that can be pickled",
                found=summary(error),
                hint=HINT,
            ) from error
