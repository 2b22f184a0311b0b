"""The known facts at one point of a path: variables, numbers of emitted tuples, lengths and fields of local objects."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from thalweg.analysis.program.abstract_values import NOTHING, Item, New, Value, joined

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
    """The known facts about a local object. Fields: of dicts and objects by name, of tuples by index; None: unknown."""

    length: Count
    fields: Fields | None
    optional: frozenset[Any] = frozenset()  # fields that may be missing


class Store:
    """The state of one path. It is copied where paths diverge and joined where they merge.

    Its dicts are never changed, only replaced: copies share them, and two paths that share a dict need not join
    it.
    """

    __slots__ = ("counts", "made", "objects", "seen", "shared", "variables")

    def __init__(self) -> None:
        self.variables: Mapping[tuple[Any, str], Value] = {}
        self.counts: Mapping[Any, Count] = {}  # emissions, by output port or by the generator that yields
        self.objects: Mapping[New, Object] = {}
        self.shared: frozenset[New] = frozenset()  # created several times, or visible to code that runs later
        self.seen: frozenset[New] = frozenset()  # visible to code that runs later, or in between
        self.made: frozenset[New] = frozenset()  # since the start of the code that runs later

    def copy(self) -> Store:
        made = Store()
        made.variables, made.counts, made.objects = self.variables, self.counts, self.objects
        made.shared, made.seen, made.made = self.shared, self.seen, self.made
        return made

    def same(self, other: Store) -> bool:
        return (
            (self.variables is other.variables or self.variables == other.variables)
            and self.counts == other.counts
            and (self.objects is other.objects or self.objects == other.objects)
            and self.shared == other.shared
            and self.seen == other.seen
        )

    def leave(self, frame: int) -> None:
        """Remove the variables of a finished call and of its comprehensions."""
        self.variables = {
            key: value
            for key, value in self.variables.items()
            if key[0] != frame and not (isinstance(key[0], tuple) and key[0][0] == frame)
        }

    def add(self, other: Store) -> None:
        """Join another path into this one."""
        if self.variables is not other.variables:
            self.variables = _joined(self.variables, other.variables, joined)
        if self.counts is not other.counts:
            ports = {**self.counts, **other.counts}
            self.counts = {p: either(self.counts.get(p, (0, 0)), other.counts.get(p, (0, 0))) for p in ports}
        if self.objects is not other.objects:
            self.objects = _joined(self.objects, other.objects, _either_object)
        self.shared |= other.shared
        self.seen |= other.seen
        self.made |= other.made

    def set(self, key: tuple[Any, str], value: Value) -> None:
        self.variables = {**self.variables, key: value}

    def emit(self, key: Any, count: Count) -> None:
        self.counts = {**self.counts, key: plus(self.counts.get(key, (0, 0)), count)}

    def taken(self, key: Any) -> Count:
        """Remove the count of a key and return it."""
        found = self.counts.get(key, (0, 0))
        self.counts = {k: count for k, count in self.counts.items() if k != key}
        return found

    def length(self, item: New) -> Count:
        return self.objects[item].length if item in self.objects else ANY_NUMBER

    def fields(self, item: Item | None) -> Fields | None:
        if not isinstance(item, New) or item not in self.objects:
            return None
        # Reading a missing field of a dict raises an exception; other objects fall back, say to a class attribute.
        missing = self.objects[item].optional and item.type not in (dict, collections.OrderedDict)
        return None if missing else self.objects[item].fields

    def optional(self, item: Item | None) -> frozenset[Any]:
        """The fields that may be missing."""
        return self.objects[item].optional if isinstance(item, New) and item in self.objects else frozenset()

    def _set(
        self, item: New, length: Count, fields: Fields | None, optional: frozenset[Any] | None = frozenset()
    ) -> None:
        self.objects = {
            **self.objects,
            item: Object(length, fields, self.optional(item) if optional is None else optional),
        }

    def make(self, item: New, length: Count) -> None:
        """Add a new object. A second object of the same site shares the known facts with the first."""
        self.made |= {item}
        if item in self.objects:
            self.shared |= {item}
            self._set(item, either(self.length(item), length), self.fields(item), None)
        else:
            self._set(item, length, None)

    def set_fields(self, item: New, fields: Fields | None) -> None:
        """Set the fields of an object that was just created."""
        new = Object(self.length(item), fields)
        made = _either_object(self.objects[item], new) if item in self.shared and item in self.objects else new
        self._set(item, *made)

    def replace_fields(self, item: New, fields: Fields | None) -> None:
        self._set(item, self.length(item), fields)

    def set_length(self, item: New, length: Count, *, surely: bool) -> None:
        if item in self.objects:
            strong = surely and item not in self.shared
            self._set(item, length if strong else either(self.length(item), length), self.fields(item), None)

    def set_field(self, item: New, name: Any, value: Value, *, surely: bool) -> None:
        fields = self.fields(item)
        if fields is not None:
            strong = surely and item not in self.shared
            old = NOTHING if strong else fields.get(name, NOTHING)
            optional = self.optional(item) - {name} if strong else self.optional(item) | ({name} - fields.keys())
            self._set(item, self.length(item), {**fields, name: joined(old, value)}, optional)

    def forget(self, item: New, most: int | None = None) -> None:
        """Forget the length and the fields of an object that may have been changed."""
        if item in self.objects:
            self._set(item, (0, most), None)
            self.shared |= {item}

    def loosen(self, item: New, changes: Fields) -> None:
        """Record that these fields may have been changed, to these values."""
        fields = self.fields(item)
        if fields is None:
            self.forget(item)
            return
        optional = self.optional(item) | (changes.keys() - fields.keys())
        made = {name: joined(fields.get(name, NOTHING), value) for name, value in changes.items()}
        self._set(item, ANY_NUMBER, {**fields, **made}, optional)
        self.shared |= {item}

    def take_back(self, before: Store, changed: Iterable[New]) -> None:
        """After code that runs later, restore the objects that it neither created nor changed."""
        still = before.objects.keys() - self.made - set(changed)
        self.objects = {**self.objects, **{item: before.objects[item] for item in still}}
        self.shared = (self.shared - still) | (before.shared & still)
        self.made |= before.made


def _joined(a: Mapping[K, V], b: Mapping[K, V], both: Callable[[V, V], V]) -> Mapping[K, V]:
    """Join two mappings; entries of only one of them are kept."""
    made = dict(a)
    for key, value in b.items():
        old = made.get(key)
        if old is not value:
            made[key] = value if old is None else both(old, value)
    return made


def _either_object(a: Object, b: Object) -> Object:
    """Join two objects; a field of only one of them is kept, as one that may be missing."""
    if a == b:
        return a
    length = either(a.length, b.length)
    if a.fields is None or b.fields is None:
        return Object(length, None)
    made = _joined(a.fields, b.fields, joined)
    return Object(length, made, a.optional | b.optional | (a.fields.keys() ^ b.fields.keys()))


def overlaid(base: Fields | None, more: Fields | None, optional: frozenset[Any] = frozenset()) -> Fields | None:
    """The fields of a dict updated with those of another; `optional`: those that the other may lack."""
    if base is None or more is None or not optional <= base.keys():
        return None
    return {**base, **{name: joined(base[name], v) if name in optional else v for name, v in more.items()}}


def meet(stores: Iterable[Store | None]) -> Store | None:
    """The store where paths merge; None if none of them is reachable."""
    made: Store | None = None
    for store in stores:
        if store is not None and made is None:
            made = store.copy()
        elif store is not None and made is not None:
            made.add(store)
    return made


def widened(old: Store, new: Store) -> Store:
    """The state after any number of loop iterations, from two of them: numbers that change become unknown."""
    made = new.copy()
    made.counts = {key: _wide(old.counts.get(key, (0, 0)), count) for key, count in new.counts.items()}
    made.objects = {
        item: held if item not in old.objects else held._replace(length=_wide(old.length(item), held.length))
        for item, held in new.objects.items()
    }
    return made


def _wide(old: Count, new: Count) -> Count:
    return 0 if new[0] < old[0] else new[0], new[1] if new[1] == old[1] else None
