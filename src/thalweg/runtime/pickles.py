"""Pickled state. Tuples inside it are stored by the name of their type: the classes of rows are generated at run time.

A worker cannot import the application's module, whose functions and classes are sent to it by value. So a class that
cannot be imported is stored by its name and looked up among the names that the operator's code uses.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from thalweg.errors import CheckpointError
from thalweg.ir.logic import Logic
from thalweg.ir.types import AttributeType, TupleType
from thalweg.ir.user_tuples import row_maker

TypeTable = Mapping[str, TupleType]
_CLASS = "class"


def type_table(types: Iterable[TupleType]) -> dict[str, TupleType]:
    """The types by name, including those of nested tuples."""
    return {_name(part): part for t in types for part in _with_parts(t)}


def _with_parts(tuple_type: TupleType) -> Iterator[TupleType]:
    yield tuple_type
    for _, kind in tuple_type.attributes:
        inner: AttributeType | None = kind
        while inner is not None:  # an optional list of tuples has its tuples two levels down
            if inner.fields is not None:
                yield from _with_parts(inner.fields)
            inner = inner.item


def _name(tuple_type: TupleType) -> str:
    return str(tuple_type)


Classes = Mapping[str, type]


def classes_of(logic: Logic) -> dict[str, type]:
    """The classes that an operator's code refers to."""
    config = getattr(logic, "config", None)
    code = [config, *vars(type(logic)).values(), getattr(config, "function", None)]
    functions = [f for f in code if isinstance(f, FunctionType)]
    return {
        value.__qualname__: value
        for function in functions
        for value in (*function.__globals__.values(), *_cells(function))
        if isinstance(value, type)
    }


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet assigned
            continue


def _is_found(cls: type) -> bool:
    """Whether another process could import the class."""
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, type):
            return None if _is_found(obj) else (_CLASS, (), obj.__qualname__)
        tuple_type = getattr(type(obj), "tuple_type", None)
        if not isinstance(tuple_type, TupleType):
            return None
        names = tuple(n for n in tuple_type.names if hasattr(obj, n))
        return _name(tuple_type), names, dumps(tuple(getattr(obj, n) for n in names))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, types: TypeTable, classes: Classes) -> None:
        super().__init__(io.BytesIO(data))
        self.types, self.classes = types, classes

    def persistent_load(self, pid: Any) -> Any:
        type_name, names, values = pid
        if type_name == _CLASS:
            return self._class(values)
        return row_maker(self._type(type_name), names)(*loads(values, self.types, self.classes))

    def _class(self, name: str) -> type:
        if name not in self.classes:
            raise CheckpointError(
                f"the stored state has an object of the class {name}, which the operator's code does not refer to",
                hint="define the class at the top level of the application's file and use it in the operator's code",
            )
        return self.classes[name]

    def _type(self, name: str) -> TupleType:
        if name in self.types:
            return self.types[name]
        for cls in self.classes.values():
            declared = getattr(cls, "tuple_type", None)
            if isinstance(declared, TupleType) and _name(declared) == name:
                return declared
        raise CheckpointError(
            f"the stored state has tuples of the type {name}, which the operator no longer uses",
            expected=", ".join(self.types),
            hint="start over with a different --checkpoint, or restore the operator's old types",
        )


def dumps(value: Any) -> bytes:
    out = io.BytesIO()
    _Pickler(out, protocol=5).dump(value)
    return out.getvalue()


def loads(data: bytes, types: TypeTable, classes: Classes) -> Any:
    return _Unpickler(data, types, classes).load()
