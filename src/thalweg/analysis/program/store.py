"""What is known at one point of a path: variables, how much was emitted, the lengths and fields of local objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from thalweg.analysis.program.values import NOTHING, Item, New, Value, joined

Count = tuple[int, int | None]  # least, most; None: any number
Fields = Mapping[Any, Value]
ANY_NUMBER: Count = (0, None)
K = TypeVar("K")
V = TypeVar("V")


def plus(a: Count, b: Count) -> Count:
    return a[0] + b[0], None if a[1] is None or b[1] is None else a[1] + b[1]


def less_one(a: Count) -> Count:
    return max(0, a[0] - 1), None if a[1] is None else max(0, a[1] - 1)


def either(a: Count, b: Count) -> Count:
    return min(a[0], b[0]), None if a[1] is None or b[1] is None else max(a[1], b[1])


class Object(NamedTuple):
    """What is known of a local object. Fields: of dicts and objects by name, of tuples by index; None: unknown."""

    length: Count
    fields: Fields | None


class Store:
    """The state of one path. It is copied where paths part and joined where they meet.

    Its dicts are never changed, only replaced: copies share them, and where two paths still have the same one there is
    nothing to join.
    """

    __slots__ = ("counts", "objects", "shared", "variables")

    def __init__(self) -> None:
        self.variables: Mapping[tuple[Any, str], Value] = {}
        self.counts: Mapping[Any, Count] = {}  # emissions, by output port or by the generator that yields
        self.objects: Mapping[New, Object] = {}
        self.shared: frozenset[New] = frozenset()  # made several times, or seen by code that runs later

    def copy(self) -> Store:
        made = Store()
        made.variables, made.counts, made.objects = self.variables, self.counts, self.objects
        made.shared = self.shared
        return made

    def same(self, other: Store) -> bool:
        return (
            (self.variables is other.variables or self.variables == other.variables)
            and self.counts == other.counts
            and (self.objects is other.objects or self.objects == other.objects)
            and self.shared == other.shared
        )

    def leave(self, frame: int) -> None:
        """A call has ended: its variables, and those of its comprehensions, are gone."""
        self.variables = {
            key: value
            for key, value in self.variables.items()
            if key[0] != frame and not (isinstance(key[0], tuple) and key[0][0] == frame)
        }

    def add(self, other: Store) -> None:
        """Another path leads here."""
        if self.variables is not other.variables:
            self.variables = _joined(self.variables, other.variables, joined)
        if self.counts is not other.counts:
            ports = {**self.counts, **other.counts}
            self.counts = {p: either(self.counts.get(p, (0, 0)), other.counts.get(p, (0, 0))) for p in ports}
        if self.objects is not other.objects:
            self.objects = _joined(self.objects, other.objects, _either_object)
        self.shared |= other.shared

    def set(self, key: tuple[Any, str], value: Value) -> None:
        self.variables = {**self.variables, key: value}

    def emit(self, key: Any, count: Count) -> None:
        self.counts = {**self.counts, key: plus(self.counts.get(key, (0, 0)), count)}

    def taken(self, key: Any) -> Count:
        """What was counted under a key, which is then forgotten."""
        found = self.counts.get(key, (0, 0))
        self.counts = {k: count for k, count in self.counts.items() if k != key}
        return found

    def length(self, item: New) -> Count:
        return self.objects[item].length if item in self.objects else ANY_NUMBER

    def fields(self, item: Item | None) -> Fields | None:
        return self.objects[item].fields if isinstance(item, New) and item in self.objects else None

    def _set(self, item: New, length: Count, fields: Fields | None) -> None:
        self.objects = {**self.objects, item: Object(length, fields)}

    def make(self, item: New, length: Count) -> None:
        """An object is made. A second one of the same site shares what is known with the first."""
        if item in self.objects:
            self.shared |= {item}
            self._set(item, either(self.length(item), length), self.fields(item))
        else:
            self._set(item, length, None)

    def set_fields(self, item: New, fields: Fields | None) -> None:
        """The fields of an object that was just made."""
        found = _either(self.fields(item), fields) if item in self.shared else fields
        self._set(item, self.length(item), found)

    def replace_fields(self, item: New, fields: Fields | None) -> None:
        self._set(item, self.length(item), fields)

    def set_length(self, item: New, length: Count, *, surely: bool) -> None:
        if item in self.objects:
            strong = surely and item not in self.shared
            self._set(item, length if strong else either(self.length(item), length), self.fields(item))

    def set_field(self, item: New, name: Any, value: Value, *, surely: bool) -> None:
        fields = self.fields(item)
        if fields is not None:
            old = NOTHING if surely and item not in self.shared else fields.get(name, NOTHING)
            self._set(item, self.length(item), {**fields, name: joined(old, value)})

    def forget(self, item: New) -> None:
        """Somebody may have changed it."""
        if item in self.objects:
            self._set(item, ANY_NUMBER, None)
            self.shared |= {item}


def _joined(a: Mapping[K, V], b: Mapping[K, V], both: Callable[[V, V], V]) -> Mapping[K, V]:
    """Of two paths: what only one of them has stays."""
    made = dict(a)
    for key, value in b.items():
        old = made.get(key)
        if old is not value:
            made[key] = value if old is None else both(old, value)
    return made


def _either_object(a: Object, b: Object) -> Object:
    return a if a == b else Object(either(a.length, b.length), _either(a.fields, b.fields))


def _either(a: Fields | None, b: Fields | None) -> Fields | None:
    """A field that only one of them has stays: without it the tuple would be refused."""
    if a is b or a is None or b is None:
        return a if a is b else None
    made = dict(a)
    for name, value in b.items():
        made[name] = value if name not in made else joined(made[name], value)
    return made


def meet(stores: Iterable[Store | None]) -> Store | None:
    """Where paths meet; None: no path leads here."""
    made: Store | None = None
    for store in stores:
        if store is not None and made is None:
            made = store.copy()
        elif store is not None and made is not None:
            made.add(store)
    return made


def widened(old: Store, new: Store) -> Store:
    """What a loop goes on changing, as far as it can be changed."""
    made = new.copy()
    made.counts = {key: _wide(old.counts.get(key, (0, 0)), count) for key, count in new.counts.items()}
    made.objects = {
        item: held if item not in old.objects else Object(_wide(old.length(item), held.length), held.fields)
        for item, held in new.objects.items()
    }
    return made


def _wide(old: Count, new: Count) -> Count:
    return 0 if new[0] < old[0] else new[0], new[1] if new[1] == old[1] else None
