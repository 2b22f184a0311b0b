"""Read pickles without running any code that they name: plain data, and everything else by its name.

A pickle can name any function that Python can import, and reading it with `pickle.loads` calls that function. What only
looks into a checkpoint reads it with this module, which finds the types of plain data and nothing else.
"""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import io
import pickle
import reprlib
import uuid
import zoneinfo
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from thalweg.errors import CheckpointError

# What a pickle may name, by module and name. All of it only makes values.
_PLAIN: Mapping[tuple[str, str], Any] = {
    **{("builtins", t.__name__): t for t in (bool, bytearray, bytes, complex, dict, float, frozenset, int)},
    **{("builtins", t.__name__): t for t in (list, range, set, slice, str, tuple, object)},
    **{("collections", t.__name__): t for t in (collections.Counter, collections.OrderedDict, collections.deque)},
    ("collections", "defaultdict"): collections.defaultdict,
    **{("datetime", t.__name__): t for t in (dt.date, dt.timedelta, dt.timezone)},
    ("decimal", "Decimal"): decimal.Decimal,
    ("fractions", "Fraction"): fractions.Fraction,
    ("uuid", "UUID"): uuid.UUID,
}

_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


class StandIn:
    """An object that is shown by its class, or by the function that would make it, and its contents."""

    __slots__ = ("__dict__", "contents")  # `contents` is not in the dict, so an attribute may have this name, too

    contents: tuple[Any, ...]

    def __new__(cls, *contents: Any, **options: Any) -> StandIn:
        made = super().__new__(cls)
        made.contents = contents
        return made

    def __init__(self, *contents: Any, **options: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        """Attributes, as a dict or, with slots, as two of them; or whatever the class made of them."""
        parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        if all(isinstance(part, dict | None) for part in parts):
            self.__dict__.update({str(n): v for part in parts if part for n, v in part.items()})
        else:
            self.contents = (*self.contents, state)

    def append(self, item: Any) -> None:
        self.contents = (*self.contents, item)

    def extend(self, items: Any) -> None:
        self.contents = (*self.contents, *items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.contents = (*self.contents, (key, value))

    def __hash__(self) -> int:
        return id(self)

    def __call__(self, *contents: Any) -> StandIn:
        """A pickle may call what it has made."""
        return self

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        own = [f"{name}={value!r}" for name, value in self.__dict__.items()]
        return f"{type(self).__name__}({', '.join([*map(repr, self.contents), *own])})"


def stand_in(name: str) -> type[StandIn]:
    return type(name, (StandIn,), {})


def _with_zone(kind: type[dt.datetime] | type[dt.time]) -> Callable[..., Any]:
    def make(*parts: Any) -> Any:
        """The value; or, if its zone is an object of a user's class, what is known of it."""
        *first, zone = parts
        return stand_in(kind.__name__)(kind(*first), zone) if isinstance(zone, StandIn) else kind(*parts)

    return make


def _zone(key: Any, *_: Any) -> Any:
    """A time zone, if this machine knows it."""
    try:
        return zoneinfo.ZoneInfo(key)
    except Exception:  # the key may be anything, also of the wrong type
        return stand_in("ZoneInfo")(key)


def _attribute(owner: Any, name: Any) -> Any:
    """What a pickle names as the attribute of something else: a method. Zones of `zoneinfo` are made by one."""
    title = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
    return _zone if title == "ZoneInfo._unpickle" else stand_in(title)


_MADE: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("builtins", "getattr"): _attribute,
    ("datetime", "datetime"): _with_zone(dt.datetime),
    ("datetime", "time"): _with_zone(dt.time),
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _MADE:
            made = partial(_MADE[module, name])  # of its own: a pickle may set the attributes of a function
            made.__name__ = name  # type: ignore[attr-defined]
            return made
        found = _PLAIN.get((module, name))
        if found is None:
            return stand_in(name)
        # A pickle may set attributes of what it names, also of classes: it gets its own of those that could change.
        changeable = isinstance(found, type) and not found.__flags__ & _IMMUTABLE
        return type(name, (found,), {}) if changeable else found

    def persistent_load(self, pid: Any) -> Any:
        """Tuples are stored as (type, attribute names, pickled values), classes of applications by their name."""
        match pid:
            case (str(type_name), tuple(names), bytes(values)):
                made = stand_in(type_name.partition("(")[0])()
                made.__dict__.update(dict(zip(map(str, names), plain_loads(values), strict=True)))
                return made
            case (_, _, str(name)):
                return stand_in(name)
        raise pickle.UnpicklingError("an unknown reference")


def plain_loads(data: bytes | memoryview) -> Any:
    """The value in a pickle, with stand-ins for all objects that are not plain data."""
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except Exception as error:  # a pickle that was tampered with can fail in any way
        raise CheckpointError("the stored state cannot be read", found=f"{type(error).__name__}: {error}") from None
