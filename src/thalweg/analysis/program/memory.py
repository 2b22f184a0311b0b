"""Memory: the contents of objects, independent of the order of execution. It only grows."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    NOTHING,
    PLAINS,
    SCALARS,
    TREE,
    Bound,
    Func,
    Given,
    InputTuple,
    Item,
    Known,
    Method,
    New,
    Part,
    Root,
    Super,
    Value,
    ValueOf,
    aged,
    join,
)
from thalweg.analysis.program.call_frames import frame_of_variable, frames_around
from thalweg.analysis.program.notes import Copied, both
from thalweg.analysis.program.python_types import CONTAINERS, MAPPINGS

ELEMENTS, KEYS = "[]", "{}"  # the fields that hold the contents of a container
EXCEPTIONS = New((0, 0, "exceptions"), list)  # holds exceptions with user code
_UNLINKED = frozenset((ValueOf, Given, InputTuple, New))  # they reach only what was put into them


class Memory:
    """The possible contents of objects, and of variables that are visible to code that runs later."""

    def __init__(self) -> None:
        self.objects: dict[Item, dict[str, Value]] = {}
        self.later: dict[tuple[Any, str], Value] = {}  # variables that are visible to code that runs later
        self.yielded: dict[New, Copied | None] = {}  # of generators: the copies that all their tuples have
        # Objects changed while visible to code that runs later, and under which names (None: any).
        self.altered: dict[New, frozenset[str] | None] = {}
        self.grew = False

    def put(self, item: Item, field: str, value: Value) -> None:
        if isinstance(item, Part) and item.origin is not None:
            item = item.origin
        held = self.objects.setdefault(item, {})
        old = held.get(field, NOTHING)
        new = join((old, value))
        if new != old:
            held[field] = new
            self.grew = True

    def get(self, item: Item, field: str) -> Value:
        held = self.objects.get(item, {}).get(field, NOTHING)
        if isinstance(item, New | Func):
            return held
        if isinstance(item, Part) and item.origin is not None:
            held |= self.objects.get(item.origin, {}).get(field, NOTHING)
        root = item.root if isinstance(item, Known | Part) else None
        return aged(held, root or Root("an object", ""))

    def bind(self, key: tuple[Any, str], value: Value) -> None:
        """Assign a variable that is visible to code that runs later."""
        old = self.later.get(key, NOTHING)
        self.later[key] = join((old, value))
        self.grew |= self.later[key] != old

    def captured(self, frames: set[int]) -> list[Value]:
        """The variables of these frames that functions defined in them can see."""
        return [value for (key, _), value in self.later.items() if frame_of_variable(key) in frames]

    def yields(self, item: New, copied: Copied | None) -> None:
        self.yielded[item] = both(self.yielded.get(item), copied)

    def alter(self, item: New, name: str | None) -> None:
        """Record a change under a name (None: any) that code that runs later may see."""
        old = self.altered.get(item, frozenset())
        new = None if name is None or old is None else old | {name}
        self.grew |= item not in self.altered or old != new
        self.altered[item] = new

    def contents(self, item: Item) -> Value:
        """The elements of a container, the values of a dict."""
        match item:
            case New(_, kind) if kind is TREE:
                return frozenset((item, *PLAINS)) | self.get(item, ELEMENTS)
            case New(_, kind) | Part(_, kind) if kind is collections.Counter:
                return self.get(item, ELEMENTS) | PLAINS  # it adds up counts
            case Part(root, _, None):
                return frozenset((Part(root, TREE), *PLAINS)) | self.get(item, ELEMENTS)
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return live_objects.summary(list(value.values()), root) | self.get(item, ELEMENTS)  # type: ignore[attr-defined]
            case Known(value=value, root=root) if type(value) in CONTAINERS:
                return live_objects.summary(list(value), root) | self.get(item, ELEMENTS)  # type: ignore[call-overload]
        return self.get(item, ELEMENTS)

    def contents_of(self, value: Iterable[Item]) -> Value:
        return join(self.contents(item) for item in value)

    def keys(self, item: Item) -> Value:
        match item:
            case New(_, kind) if kind is TREE:
                return PLAINS
            case Part(_, _, None):
                return PLAINS
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return live_objects.summary(list(value), root) | self.get(item, KEYS)  # type: ignore[call-overload]
        return self.get(item, KEYS)

    def reach(self, values: Iterable[Value]) -> set[Item]:
        """Everything that can be reached from these values."""
        seen: set[Item] = set()
        waiting = [item for value in values for item in value]
        while waiting:
            item = waiting.pop()
            size = len(seen)
            seen.add(item)  # hashes once: a test before it would hash again
            if len(seen) == size:
                continue
            if held := self.objects.get(item):
                waiting += [one for value in held.values() for one in value]
            if type(item) not in _UNLINKED:
                waiting += self._linked(item)
        return seen

    def _linked(self, item: Item) -> Iterable[Item]:
        """The items that can be reached from an item, without those that were put into it."""
        match item:
            case Known(value=value, root=root):
                if type(value) in SCALARS:
                    return ()
                inside = self.contents(item) if root is not None and type(value) in CONTAINERS else NOTHING
                # A dataclass instance compares and formats its fields.
                fields = live_objects.fields_of(value) if live_objects.is_dataclass_object(value) else []
                return [*inside, *(live_objects.rooted(held, root) for held in fields)]
            case Part(origin=New() as origin):
                return (origin,)
            case Bound() | Method() | Super():
                return (item.receiver,)
            case Func():
                return [one for value in self.captured(frames_around(item.frame)) for one in value]
        return ()
