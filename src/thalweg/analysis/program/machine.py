"""The machine that follows code: its memory, and what may be done to the things in it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from thalweg.analysis.program import outside
from thalweg.analysis.program.frames import Args, Frame, frame_of_variable, frames_around
from thalweg.analysis.program.notes import Notes, Place
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, Store
from thalweg.analysis.program.tables import CONTAINERS, ITERATOR, MAPPINGS
from thalweg.analysis.program.values import (
    ATOMS,
    CODE,
    NOTHING,
    PLAIN,
    SCALARS,
    STATE,
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
    Submit,
    Super,
    Value,
    aged,
    join,
)
from thalweg.errors import Where
from thalweg.ir.facts import MUTATES, MUTATES_INPUT, READS_MUTABLE, UNKNOWN_CALL, Reason

TURNS = 12  # of a loop until it is given up

MAX_STEPS = 10_000  # statements and calls that are followed for one operator

ELEMENTS, KEYS = "[]", "{}"  # the fields under which memory holds what a container contains

EXCEPTIONS = New((0, 0, "exceptions"), list)  # holds those that have code of the user's


class TooLong(Exception):
    """The code is too much to follow."""


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
        # Changed when code that runs later could have seen them, and under which names (None: anyhow). It only grows.
        self.altered: dict[New, frozenset[str] | None] = {}
        self.delayed: list[set[New]] = []  # what the code changes that runs later
        self.nexts = 0  # calls of next() that may find an iterator empty

    def call(self, callee: Value, args: Args, node: ast.AST) -> Value:
        raise NotImplementedError

    def truth(self, value: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def expr(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def get_attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        raise NotImplementedError

    def contents(self, item: Item) -> Value:
        raise NotImplementedError

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
        """Code that cannot be followed: it may do anything with what it is given. What lies in the key's own state is
        data, by contract: what is done with it alone changes at most that state."""
        own = self._is_own_data(given)
        if not own:
            self.effect(UNKNOWN_CALL, text, node)
        roots: frozenset[Root] = frozenset()
        for item in self.reach(given):
            if isinstance(item, Row):
                self.notes.read(item.port, None)
            if isinstance(item, New) and self.store is not None:
                self.store.forget(item)
                self._alter(item)
                for field in {ELEMENTS, *self.memory.get(item, {})}:
                    self.put(item, field, frozenset((Anything(frozenset((STATE,))),)) if own else UNKNOWN)
            may_emit = isinstance(item, Submit | Func) or (isinstance(item, Known | Part) and item.root == STATE)
            may_emit |= isinstance(item, Anything) and CODE in item.roots
            if may_emit and self.notes.hidden is None:
                self.notes.hidden = self.reason(text, node)
            if own and isinstance(item, Anything):
                roots |= item.roots
            if isinstance(item, Known | Part) and item.root is not None:
                roots |= {item.root}
                self._expose(item, self.reason(text, node))
        return frozenset((Anything(roots),))

    def lose(self, text: str, node: ast.AST) -> Value:
        """No value is known of something, though nothing says that an exception was raised. Memory may still be
        growing; if it is so in the last round, too, the code was not understood."""
        if self.store is not None:
            self.notes.lost = self.notes.lost or self.reason(text, node)
        return NOTHING

    def raises(self) -> Value:
        """An exception, surely: the path ends here."""
        self.touch()
        self.store = None
        return NOTHING

    def _is_own_data(self, given: Sequence[Value]) -> bool:
        """Whether there is something of the state among these, and beside it only values and what this code made."""
        items = self.reach(given)
        own = [item for item in items if _is_of_state(item)]
        return bool(own) and all(_is_of_state(i) or isinstance(i, Of | Given | Row | New) or _is_atom(i) for i in items)

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

    def alias_changed(self, item: Item) -> None:
        """What an object of this call holds may have been changed by way of something that keeps it."""
        if isinstance(item, Part) and item.origin is not None and self.store is not None:
            self.store.forget(item.origin)

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

    def _unsettle(self, item: New) -> None:
        """It may be changed at any time. An iterator gets no longer by that."""
        names = self.altered.get(item)
        if self.store is None:
            return
        if names is not None:
            self.store.loosen(item, {name: self.get(item, named(item, name)) for name in names})
        else:
            self.store.forget(item, self.store.length(item)[1] if item.type is ITERATOR else None)

    def _alter(self, item: New, name: str | None = None) -> None:
        if self.store is None or item not in self.store.seen:
            return
        for changed in self.delayed:
            changed.add(item)
        old = self.altered.get(item, frozenset())
        new = None if name is None or old is None else old | {name}
        self.changed |= item not in self.altered or old != new
        self.altered[item] = new

    def mutate(self, value: Value, what: str, node: ast.AST, name: str | None = None) -> None:
        """Something of these objects is changed; `what` says it in the user's words. `name`: the one key or attribute
        that is set, whose value memory holds."""
        for item in value:
            made = item.origin if isinstance(item, Part) else item
            if isinstance(made, New):
                self._alter(made, name)
            match item:
                case Known(value=held, root=root) if type(held) not in SCALARS:
                    shown = getattr(held, "__name__", type(held).__name__)
                    place = (held, (name or "") if isinstance(held, type) else "")
                    self._change(root or Root.of("the object", shown, held), place, what, node)
                case Part(root, kind) if kind not in SCALARS and kind is not PLAIN:
                    self._change(root, (root.held, ""), what, node)
                case Row():
                    self.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
                case Given(given) if given.required.kind == "tuple":
                    self.effect(MUTATES_INPUT, f"{what}, of a tuple", node)
                case Anything(roots):
                    self._may_change(roots, f"{what}, which may be anything", node)
        self.touch()

    def _may_change(self, roots: frozenset[Root], what: str, node: ast.AST) -> None:
        """Nobody knows what it is that is changed: no proof of hidden state, but of nothing else either."""
        if roots != {STATE}:
            self.effect(UNKNOWN_CALL, what, node)
        for root in roots:
            if root == STATE:
                self.notes.writes_state = self.notes.writes_state or self.reason(what, node)
            else:
                self.notes.exposes((root.held, ""), self.reason(what, node))

    def _change(self, root: Root, place: Place, what: str, node: ast.AST) -> None:
        if root == STATE:
            self.notes.writes_state = self.notes.writes_state or self.reason(what, node)
            return
        reason = self.reason(what if root.name and root.name in what else f"{what} ({root})", node)
        self.notes.effect(MUTATES, reason)
        self.notes.changes(place, reason)

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
                around = frames_around(item.frame)
                waiting += [i for (key, _), v in self.later.items() if frame_of_variable(key) in around for i in v]
            if isinstance(item, Known) and item.root is not None and type(item.value) in CONTAINERS:
                waiting += self.contents(item)
            if isinstance(item, Known) and outside.is_dataclass_object(item.value):  # it compares and shows its fields
                waiting += [outside.rooted(held, item.root) for held in outside.fields_of(item.value)]
        return seen


def named(item: New, name: str) -> str:
    """The field under which memory holds what was set under a name: a key of a dict is no attribute of it."""
    return f"key {name}" if item.type in MAPPINGS else name


def _is_of_state(item: Item) -> bool:
    if isinstance(item, Anything):
        return item.roots == {STATE}
    return isinstance(item, Known | Part) and item.root == STATE


def _is_atom(item: Item) -> bool:
    return isinstance(item, Known) and isinstance(item.value, ATOMS)
