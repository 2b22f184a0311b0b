"""Reading pickled state (written by `ir.state_pickles`).

A worker cannot import the application's module, whose functions and classes are sent to it by value. So a class that
cannot be imported is stored by its name and looked up among the classes that the operator's code and state use.
"""

from __future__ import annotations

import io
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from thalweg.errors import CheckpointError
from thalweg.ir.logic import Logic
from thalweg.ir.sent_code import is_found
from thalweg.ir.state_pickles import CLASS, type_name
from thalweg.ir.types import AttributeType, TupleType
from thalweg.ir.user_tuples import row_maker

TypeTable = Mapping[str, TupleType]


def type_table(types: Iterable[TupleType]) -> dict[str, TupleType]:
    """The types by name, including those of nested tuples."""
    return {type_name(part): part for t in types for part in _with_parts(t)}


def _with_parts(tuple_type: TupleType) -> Iterator[TupleType]:
    yield tuple_type
    for _, kind in tuple_type.attributes:
        inner: AttributeType | None = kind
        while inner is not None:  # an optional list of tuples has its tuples two levels down
            if inner.fields is not None:
                yield from _with_parts(inner.fields)
            inner = inner.item


Classes = Mapping[str, type]


def classes_of(logic: Logic) -> dict[str, type]:
    """The classes of an operator's initial state, and those that its code refers to, directly or through functions and
    classes that are sent with it."""
    config = getattr(logic, "config", None)
    code = [config, getattr(config, "function", None), *vars(type(logic)).values()]
    waiting: deque[Any] = deque([*(v for v in code if isinstance(v, FunctionType)), *logic.__dict__.values()])
    found: dict[str, type] = {}  # the first of each name: what the code itself refers to comes first
    seen: set[int] = set()
    while waiting:
        value = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        waiting += _referred(value)
        if isinstance(value, type):
            found.setdefault(value.__qualname__, value)
    return found


def _referred(value: Any) -> Iterable[Any]:
    match value:
        case FunctionType():
            outer = (*value.__globals__.values(), *_cells(value))
            return [v for v in outer if isinstance(v, type) or (isinstance(v, FunctionType) and not is_found(v))]
        case type():
            return [] if is_found(value) else [v for v in vars(value).values() if isinstance(v, FunctionType)]
        case dict():
            return [*value.keys(), *value.values()]
        case list() | tuple() | set() | frozenset() | deque():
            return list(value)
    return [type(value), *getattr(value, "__dict__", {}).values()]


def _cells(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet assigned
            continue


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, types: TypeTable, classes: Classes) -> None:
        super().__init__(io.BytesIO(data))
        self.types, self.classes = types, classes

    def find_class(self, module: str, name: str) -> Any:
        """The operator's own copy of a class, if its code has one."""
        own = self.classes.get(name)
        return own if own is not None and own.__module__ == module else super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        name, names, values = pid
        if name == CLASS:
            return self._class(values)
        return row_maker(self._type(name), names)(*loads(values, self.types, self.classes))

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
            if isinstance(declared, TupleType) and type_name(declared) == name:
                return declared
        raise CheckpointError(
            f"the stored state has tuples of the type {name}, which the operator no longer uses",
            expected=", ".join(self.types),
            hint="start over with a different --checkpoint, or restore the operator's old types",
        )


def loads(data: bytes, types: TypeTable, classes: Classes) -> Any:
    return _Unpickler(data, types, classes).load()
