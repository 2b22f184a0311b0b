"""The machine that follows code: its memory, and what may be done to the things in it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.notes import Notes, Place
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, Store, either
from thalweg.analysis.program.tables import CONTAINERS, ITERATOR, MAPPINGS, SETS, is_built_in
from thalweg.analysis.program.values import (
    INT,
    NOTHING,
    PLAIN,
    PLAINS,
    SCALARS,
    STATE,
    STR,
    TREE,
    UNKNOWN,
    Anything,
    Bound,
    Func,
    Given,
    Item,
    Known,
    Method,
    New,
    Of,
    Part,
    Root,
    Row,
    Site,
    Submit,
    Super,
    Value,
    aged,
    join,
    types_of,
)
from thalweg.errors import Where
from thalweg.ir.facts import HASH_ORDER, MUTATES, MUTATES_INPUT, READS_MUTABLE, UNKNOWN_CALL, Reason

MAX_STEPS = 10_000  # statements and calls that are followed for one operator
MAX_DEPTH = 12  # of calls

NO_FRAME = -1
ELEMENTS, KEYS = "[]", "{}"  # the fields under which memory holds what a container contains


class TooLong(Exception):
    """The code is too much to follow."""


class Frame:
    """One call that is followed."""

    def __init__(self, key: int, name: str, file: str, module: dict[str, Any], outer: Frame | None) -> None:
        self.key, self.name, self.file, self.module, self.outer = key, name, file, module, outer
        self.cells: dict[str, Any] = {}  # of a function that exists: its closure
        self.locals: frozenset[str] = frozenset()
        self.later: frozenset[str] = frozenset()  # locals that are seen by code that may run later
        self.scopes: list[dict[str, Site]] = []  # of comprehensions
        self.returns: list[tuple[Value, Store]] = []
        self.lazy = False  # whether the code runs later than here
        self.generator: New | None = None
        self.first: str | None = None  # the first parameter, for super()
        self.called_at: tuple[Frame, ast.AST] | None = None
        self.foreign = outside.is_foreign(file)


class Machine:
    """Memory and findings."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.memory: dict[Item, dict[str, Value]] = {}  # what objects contain; it only grows
        self.later: dict[tuple[Any, str], Value] = {}  # variables that code which runs later can see
        self.changed = False  # whether memory grew
        self.store: Store | None = Store()
        self.frames: list[Frame] = []
        self.collectors: list[list[Store]] = []  # of the `try` statements that are open
        self.loops: list[tuple[list[Store], list[Store]]] = []  # where `break` and `continue` lead
        self.steps = 0
        self.paths: dict[tuple[int, int, int], int] = {}  # calls by caller, place and function
        self.nodes: dict[int, ast.AST] = {}  # sites are identities of nodes: these must stay

    # What other parts of the machine do.

    def call(self, callee: Value, args: Args, node: ast.AST) -> Value:
        raise NotImplementedError

    def expr(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def get_attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        raise NotImplementedError

    # Findings.

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def reason(self, text: str, node: ast.AST) -> Reason:
        """A reason at the user's own line: inside a foreign function, that of its call."""
        file, line = self.frame.file, getattr(node, "lineno", 0)
        for frame in self.frames:
            if frame.foreign and frame.called_at is not None and not frame.called_at[0].foreign:
                file, line = frame.called_at[0].file, getattr(frame.called_at[1], "lineno", 0)
                text = f"calls {frame.name}, which {text}"
                break
        return Reason(text, Where(file, line))

    def effect(self, kind: str, text: str, node: ast.AST) -> None:
        self.notes.effect(kind, self.reason(text, node))

    def unknown(self, text: str, node: ast.AST, *given: Value) -> Value:
        """Code that cannot be followed: it may do anything with what it is given."""
        self.effect(UNKNOWN_CALL, text, node)
        roots: frozenset[Root] = frozenset()
        for item in self.reach(given):
            if isinstance(item, Row):
                self.notes.read(item.port, None)
            if isinstance(item, New) and self.store is not None:
                self.store.forget(item)
                self.put(item, ELEMENTS, UNKNOWN)
            may_emit = isinstance(item, Submit | Func) or (isinstance(item, Known | Part) and item.root == STATE)
            if may_emit and self.notes.hidden is None:
                self.notes.hidden = self.reason(text, node)
            if isinstance(item, Known | Part) and item.root is not None:
                roots |= {item.root}
                self._expose(item, self.reason(text, node))
        return frozenset((Anything(roots),))

    def _expose(self, item: Known | Part, reason: Reason) -> None:
        """Code that cannot be followed gets an object from outside."""
        assert item.root is not None
        if item.root == STATE:
            self.notes.writes_state = self.notes.writes_state or reason
        elif not (isinstance(item, Known) and outside.is_fixed(item.value)):
            self.notes.exposes((item.value if isinstance(item, Known) else item.root.held, ""), reason)

    def place(self, item: Known, node: ast.AST) -> None:
        """An object from outside is looked at."""
        if item.root is not None and item.root != STATE and not outside.is_fixed(item.value):
            reason = self.reason(f"reads {item.root}", node)
            self.notes.effect(READS_MUTABLE, reason)
            self.notes.saw((item.value, ""), reason)

    def path_of(self, node: ast.AST, function: ast.AST) -> int:
        """The number of a call: the same whenever it is followed again."""
        self.nodes[id(node)], self.nodes[id(function)] = node, function
        return self.paths.setdefault((self.frame.key, id(node), id(function)), len(self.paths) + 1)

    # Memory.

    def put(self, item: Item, field: str, value: Value) -> None:
        if isinstance(item, Known | Part):  # kept beyond the call: it may be looked at later as a whole
            for kept in self.reach([value]):
                if isinstance(kept, Row):
                    self.notes.read(kept.port, None)
        if isinstance(item, Part) and item.origin is not None:
            item = item.origin
        held = self.memory.setdefault(item, {})
        old = held.get(field, NOTHING)
        new = join((old, value))
        if new != old:
            held[field] = new
            self.changed = True

    def get(self, item: Item, field: str) -> Value:
        held = self.memory.get(item, {}).get(field, NOTHING)
        if isinstance(item, New | Func):
            return held
        if isinstance(item, Part) and item.origin is not None:
            held |= self.memory.get(item.origin, {}).get(field, NOTHING)
        root = item.root if isinstance(item, Known | Part) else None
        return aged(held, root or Root("an object", ""))

    def make(self, kind: type, node: ast.AST, tag: str = "", length: Count = ANY_NUMBER) -> New:
        item = New((self.frame.key, id(node), tag), kind)
        if self.store is not None:
            self.store.make(item, length)
        return item

    def made(
        self,
        kind: type,
        node: ast.AST,
        contents: Value,
        *,
        tag: str = "",
        length: Count = ANY_NUMBER,
        keys: Value = NOTHING,
    ) -> Value:
        """A new container."""
        item = self.make(kind, node, tag, length)
        self.put(item, ELEMENTS, contents)
        self.put(item, KEYS, keys)
        return frozenset((item,))

    def set_fields(self, item: New, fields: Fields | None) -> None:
        if self.store is not None:
            self.store.set_fields(item, fields)

    def tree(self, node: ast.AST, tag: str = "tree") -> Value:
        return frozenset((self.make(TREE, node, tag), Of(PLAIN)))

    def touch(self) -> None:
        """A `try` that is open may be left from here."""
        if self.store is not None:
            for collected in self.collectors:
                if collected:
                    collected[0].add(self.store)
                else:
                    collected.append(self.store.copy())

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooLong

    # Changes.

    def mutate(self, value: Value, what: str, node: ast.AST) -> None:
        """Something of these objects is changed; `what` says it in the user's words."""
        for item in value:
            match item:
                case Known(value=held, root=root) if root is not None and type(held) not in SCALARS:
                    self._change(root, (held, ""), what, node)
                case Part(root, kind) if kind not in SCALARS and kind is not PLAIN:
                    self._change(root, (root.held, ""), what, node)
                case Row():
                    self.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
                case Given(given) if given.required.kind == "tuple":
                    self.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
                case Anything(roots):
                    self.effect(UNKNOWN_CALL, f"{what}, which may be anything", node)
                    for root in roots:
                        self._change(root, (root.held, ""), what, node)
                case New(site) if self.frame.lazy and site[0] != self.frame.key and self.store is not None:
                    self.store.shared |= {item}
        self.touch()

    def _change(self, root: Root, place: Place, what: str, node: ast.AST) -> None:
        if root == STATE:
            self.notes.writes_state = self.notes.writes_state or self.reason(what, node)
            return
        reason = self.reason(what if root.name and root.name in what else f"{what} ({root})", node)
        self.notes.effect(MUTATES, reason)
        self.notes.changes(place, reason)

    # What is in things.

    def reach(self, values: Sequence[Value]) -> set[Item]:
        """Everything that can be reached from these."""
        seen: set[Item] = set()
        waiting = [item for value in values for item in value]
        while waiting:
            item = waiting.pop()
            if item in seen:
                continue
            seen.add(item)
            waiting += [held for value in self.memory.get(item, {}).values() for held in value]
            if isinstance(item, Part) and item.origin is not None:
                waiting.append(item.origin)
            if isinstance(item, Bound | Method | Super):
                waiting.append(item.receiver)
            if isinstance(item, Func):
                seen_frames = _frames(item.frame)
                waiting += [held for (key, _), v in self.later.items() if _frame_of(key) in seen_frames for held in v]
            if isinstance(item, Known) and item.root is not None and type(item.value) in CONTAINERS:
                waiting += self.contents(item)
        return seen

    def plain(self, *values: Value) -> bool:
        """Whether these are built-in data through and through."""
        return all(self._plain(item) for item in self.reach(values))

    def _plain(self, item: Item) -> bool:
        match item:
            case Of() | Given() | Row(port=-1):
                return True
            case New(_, kind) | Part(_, kind):
                return is_built_in(kind) or self.without_operators(kind)
            case Known(value=value):
                return outside.is_plain(value) or isinstance(value, type) or self.without_operators(type(value))
            case Row(kind):
                return kind.python is None or not outside.own_operators(kind.python)
        return False

    def without_operators(self, cls: type) -> bool:
        """Whether a class of the user's has no operators of its own: Python compares and shows its objects itself."""
        return outside.is_python_class(cls) and not outside.own_operators(cls)

    def contents(self, item: Item) -> Value:
        """The elements of a container, the values of a dict."""
        match item:
            case New(_, kind) if kind is TREE:
                return frozenset((item, *PLAINS)) | self.get(item, ELEMENTS)
            case Part(root, _, None):
                return frozenset((Part(root, TREE), *PLAINS)) | self.get(item, ELEMENTS)
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return outside.summary(list(value.values()), root) | self.get(item, ELEMENTS)  # type: ignore[attr-defined]
            case Known(value=value, root=root) if type(value) in CONTAINERS:
                return outside.summary(list(value), root) | self.get(item, ELEMENTS)  # type: ignore[call-overload]
        return self.get(item, ELEMENTS)

    def keys(self, item: Item) -> Value:
        match item:
            case New(_, kind) if kind is TREE:
                return PLAINS
            case Part(_, _, None):
                return PLAINS
            case Known(value=value, root=root) if type(value) in MAPPINGS:
                return outside.summary(list(value), root) | self.get(item, KEYS)  # type: ignore[call-overload]
        return self.get(item, KEYS)

    def elements(self, value: Value, node: ast.AST, *, ordered: bool = True) -> Value:
        """What iterating over a value gives. `ordered`: whether the order is seen."""
        return join(self._elements(item, node, ordered) for item in value)

    def _elements(self, item: Item, node: ast.AST, ordered: bool) -> Value:
        kinds = types_of(item)
        if ordered and kinds is not None and any(kind in SETS for kind in kinds):
            self.effect(HASH_ORDER, "iterates over a set", node)
        match item:
            case Given(kind) if kind.required.item is not None:
                return frozenset((Given(kind.required.item),))
            case Given() | Of() if kinds is not None:
                return STR if kinds[0] is str else INT if kinds[0] in (bytes, range) else PLAINS
            case New(_, kind) if is_built_in(kind):
                if kind is ITERATOR and self.store is not None:  # used up
                    self.store.set_length(item, (0, self.store.length(item)[1]), surely=True)
                return self.keys(item) if kind in MAPPINGS else self.contents(item)
            case Part(_, kind) if is_built_in(kind):
                return self.keys(item) if kind in MAPPINGS else self.contents(item)
            case Known(value=held):
                return self._known_elements(item, held, node)
            case Super() | Func() | Method() | Submit() | Bound():
                return NOTHING
        return self._iterated(item, node)

    def _known_elements(self, item: Known, held: Any, node: ast.AST) -> Value:
        self.place(item, node)
        if type(held) in MAPPINGS:
            return self.keys(item)
        if type(held) in CONTAINERS:
            return self.contents(item)
        if isinstance(held, str | bytes | range):
            return STR if isinstance(held, str) else INT
        if type(held) in SCALARS:
            return NOTHING  # an exception
        if isinstance(held, enum.EnumMeta):
            return outside.summary(list(held), item.root)
        if outside.is_iterator(held) and outside.class_attribute(type(held), "__next__") is not outside.NOT_THERE:
            self.mutate(frozenset((item,)), f"takes from {item.root or 'an iterator'}", node)
            return UNKNOWN if not isinstance(held, ITERATOR) else PLAINS | UNKNOWN
        return self._iterated(item, node)

    def _iterated(self, item: Item, node: ast.AST) -> Value:
        """An object with code of its own."""
        value = frozenset((item,))
        method = self.get_attribute(value, "__iter__", node) if not isinstance(item, Anything) else NOTHING
        if method and all(isinstance(m, Bound) for m in method):
            made = self.call(method, Args(), node)
            return self.elements(frozenset(i for i in made if i != item), node)
        return self.unknown("iterates over something that cannot be read", node, value)

    def length(self, value: Value) -> Count:
        """How many elements a value has."""
        found: Count | None = None
        for item in value:
            one = self._length(item)
            found = one if found is None else either(found, one)
        return ANY_NUMBER if found is None else found

    def _length(self, item: Item) -> Count:
        match item:
            case New() if self.store is not None:
                return self.store.length(item)
            case Known(value=value) if type(value) in (tuple, str, bytes):
                return len(value), len(value)  # type: ignore[arg-type]
            case Known(value=None):
                return 0, 0
        return ANY_NUMBER


def _frames(frame: Frame | None) -> set[int]:
    found: set[int] = set()
    while frame is not None:
        found.add(frame.key)
        frame = frame.outer
    return found


def _frame_of(key: Any) -> int:
    """The frame of a variable; that of a comprehension is known by its place in one."""
    return int(key[0]) if isinstance(key, tuple) else int(key)


class Args:
    """The arguments of a call: what is known by position and by name, and what else there may be."""

    def __init__(
        self,
        positional: Sequence[Value] = (),
        named: dict[str, Value] | None = None,
        more: Value | None = None,
        more_named: Value | None = None,
    ) -> None:
        self.positional, self.named = list(positional), dict(named or {})
        self.more, self.more_named = more, more_named  # of *args and **kwargs whose number is not known

    def all(self) -> list[Value]:
        rest = [v for v in (self.more, self.more_named) if v is not None]
        return [*self.positional, *self.named.values(), *rest]

    def at(self, index: int, name: str = "") -> Value:
        if index < len(self.positional):
            return self.positional[index]
        return self.named.get(name, self.more if self.more is not None else NOTHING)
