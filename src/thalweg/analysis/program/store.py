"""What is known at one point of a path: variables, how much was emitted, the lengths and fields of local objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.analysis.program.values import NOTHING, New, Value, join

Count = tuple[int, int | None]  # least, most; None: any number
Fields = Mapping[Any, Value]
ANY_NUMBER: Count = (0, None)


def plus(a: Count, b: Count) -> Count:
    return a[0] + b[0], None if a[1] is None or b[1] is None else a[1] + b[1]


def less_one(a: Count) -> Count:
    return max(0, a[0] - 1), None if a[1] is None else max(0, a[1] - 1)


def either(a: Count, b: Count) -> Count:
    return min(a[0], b[0]), None if a[1] is None or b[1] is None else max(a[1], b[1])


class Store:
    """The state of one path. It is copied where paths part and joined where they meet."""

    __slots__ = ("counts", "fields", "lengths", "shared", "variables")

    def __init__(self) -> None:
        self.variables: dict[tuple[Any, str], Value] = {}
        self.counts: dict[Any, Count] = {}  # emissions, by output port or by the generator that yields
        self.lengths: dict[New, Count] = {}
        self.fields: dict[New, Fields | None] = {}  # of dicts and objects by name, of tuples by index; None: unknown
        self.shared: frozenset[New] = frozenset()  # made several times, or seen by code that runs later

    def copy(self) -> Store:
        made = Store()
        made.variables, made.counts = dict(self.variables), dict(self.counts)
        made.lengths, made.fields, made.shared = dict(self.lengths), dict(self.fields), self.shared
        return made

    def same(self, other: Store) -> bool:
        return (
            self.variables == other.variables
            and self.counts == other.counts
            and self.lengths == other.lengths
            and self.fields == other.fields
            and self.shared == other.shared
        )

    def emit(self, key: Any, count: Count) -> None:
        self.counts[key] = plus(self.counts.get(key, (0, 0)), count)

    def make(self, item: New, length: Count, fields: Fields | None) -> None:
        """An object is made. A second one of the same site shares what is known with the first."""
        if item in self.lengths:
            self.shared |= {item}
            length, fields = either(self.lengths[item], length), _either(self.fields.get(item), fields)
        self.lengths[item], self.fields[item] = length, fields

    def set_length(self, item: New, length: Count, *, surely: bool) -> None:
        if item in self.lengths:
            strong = surely and item not in self.shared
            self.lengths[item] = length if strong else either(self.lengths[item], length)

    def set_field(self, item: New, name: Any, value: Value, *, surely: bool) -> None:
        fields = self.fields.get(item)
        if fields is None:
            return
        old = NOTHING if surely and item not in self.shared else fields.get(name, NOTHING)
        self.fields[item] = {**fields, name: join((old, value))}

    def forget(self, item: New) -> None:
        """Somebody may have changed it."""
        if item in self.lengths:
            self.lengths[item], self.fields[item] = ANY_NUMBER, None
            self.shared |= {item}


def _either(a: Fields | None, b: Fields | None) -> Fields | None:
    """A field that only one of them has stays: without it the tuple would be refused."""
    if a is None or b is None:
        return None
    return {name: join((a.get(name, NOTHING), b.get(name, NOTHING))) for name in (*a, *(n for n in b if n not in a))}


def meet(stores: Iterable[Store | None]) -> Store | None:
    """Where paths meet; None: no path leads here."""
    made: Store | None = None
    for store in stores:
        if store is not None:
            made = store.copy() if made is None else _meet(made, store)
    return made


def _meet(a: Store, b: Store) -> Store:
    made = Store()
    made.variables = {
        name: join((a.variables.get(name, NOTHING), b.variables.get(name, NOTHING)))
        for name in {**a.variables, **b.variables}
    }
    made.counts = {k: either(a.counts.get(k, (0, 0)), b.counts.get(k, (0, 0))) for k in {**a.counts, **b.counts}}
    for item in {**a.lengths, **b.lengths}:
        if item in a.lengths and item in b.lengths:
            made.lengths[item] = either(a.lengths[item], b.lengths[item])
            made.fields[item] = _either(a.fields[item], b.fields[item])
        else:  # made on one of the paths only
            one = a if item in a.lengths else b
            made.lengths[item], made.fields[item] = one.lengths[item], one.fields[item]
    made.shared = a.shared | b.shared
    return made


def widened(old: Store, new: Store) -> Store:
    """What a loop goes on changing, as far as it can be changed."""
    made = new.copy()
    for key, count in new.counts.items():
        made.counts[key] = _wide(old.counts.get(key, (0, 0)), count)
    for item, length in new.lengths.items():
        made.lengths[item] = _wide(old.lengths.get(item, length), length)
    return made


def _wide(old: Count, new: Count) -> Count:
    return 0 if new[0] < old[0] else new[0], new[1] if new[1] == old[1] else None
