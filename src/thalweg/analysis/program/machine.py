"""The machine that follows code: its parts, the tables of handlers that drive it, and operations for handlers."""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import (
    ATOMS,
    CODE,
    INT,
    NONE,
    NOTHING,
    PLAIN,
    SCALARS,
    STATE,
    TREE,
    UNKNOWN,
    Anything,
    Func,
    Given,
    InputTuple,
    Item,
    Known,
    Method,
    New,
    Part,
    Root,
    Submit,
    Value,
    ValueOf,
    join,
    just,
    types_of,
)
from thalweg.analysis.program.call_frames import Args, CallFrame, CallStack
from thalweg.analysis.program.limits import Limits, TooLong
from thalweg.analysis.program.memory import ELEMENTS, KEYS, Memory
from thalweg.analysis.program.notes import Notes
from thalweg.analysis.program.python_types import SETS
from thalweg.analysis.program.registry import Registry
from thalweg.analysis.program.store import ANY_NUMBER, Count, Fields, Store, meet
from thalweg.errors import Where
from thalweg.ir.facts import HASH_ORDER, READS_MUTABLE, UNKNOWN_CALL, Reason
from thalweg.ir.types import TupleType

# Handlers by the type of a syntax node. `node`, the last argument of many functions: the location for reasons.
ExpressionHandler: TypeAlias = "Callable[[Machine, Any], Value]"
StatementHandler: TypeAlias = "Callable[[Machine, Any], None]"
TargetHandler: TypeAlias = "Callable[[Machine, Any, Value, ast.AST], None]"  # target, its new value
PatternHandler: TypeAlias = "Callable[[Machine, Any, Value, ast.AST], None]"  # pattern, matched value
EXPRESSIONS: Registry[type[ast.expr], ExpressionHandler] = Registry("expressions")
STATEMENTS: Registry[type[ast.stmt], StatementHandler] = Registry("statements")
TARGETS: Registry[type[ast.expr], TargetHandler] = Registry("targets")
PATTERNS: Registry[type[ast.pattern], PatternHandler] = Registry("patterns")

# Handlers by the type of an item: the operations on the items of a value.
CallHandler: TypeAlias = "Callable[[Machine, Any, Args, ast.AST, bool], Value]"  # last: whether surely this is called
AttributeHandler: TypeAlias = "Callable[[Machine, Any, str, ast.AST], Value]"
ElementsHandler: TypeAlias = "Callable[[Machine, Any, ast.AST], Value]"
SubscriptHandler: TypeAlias = "Callable[[Machine, Any, Value, ast.AST], Value]"
CALLS: Registry[type[Item], CallHandler] = Registry("calls")
ATTRIBUTES: Registry[type[Item], AttributeHandler] = Registry("attributes")
ITERATION: Registry[type[Item], ElementsHandler] = Registry("iteration")
SUBSCRIPTS: Registry[type[Item], SubscriptHandler] = Registry("subscripts")


class Machine:
    """Follows code, one path at a time; `store` is None in unreachable code."""

    def __init__(self, where: Where, outputs: Sequence[TupleType] = (), limits: Limits | None = None) -> None:
        self.notes = Notes()
        self.memory = Memory()
        self.store: Store | None = Store()
        self.calls = CallStack()
        self.limits = limits or Limits()
        self.steps = 0
        self.collectors: list[list[Store]] = []  # of the enclosing `try` statements
        self.delayed: list[set[New]] = []  # objects that are changed by code that runs later
        self.nexts = 0  # calls of next() that may find an iterator empty
        self.outputs = outputs  # of the followed operator
        self.resource: Value = NONE  # the result of its `setup`
        self.submitted: list[tuple[list[int], Value]] = []  # in this call: ports and value
        self.entry = ast.Pass(lineno=where.line, col_offset=0)  # the location for actions outside the user's code
        self.start(where.file)

    def start(self, file: str) -> None:
        """Start a call from outside, on a new path."""
        self.calls.frames, self.collectors, self.submitted = [CallFrame(0, "", file, {}, None)], [], []
        self.store = Store()

    @property
    def frame(self) -> CallFrame:
        return self.calls.frames[-1]

    # Syntax.

    def evaluate(self, node: ast.expr) -> Value:
        if self.store is None:
            return NOTHING
        self.step()
        return EXPRESSIONS.handlers[type(node)](self, node)

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self.store is None:
                return
            self.step()
            self.touch()
            STATEMENTS.handlers[type(statement)](self, statement)
            self.touch()

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        TARGETS.handlers[type(target)](self, target, value, node)

    def match(self, pattern: ast.pattern, subject: Value, node: ast.AST) -> None:
        PATTERNS.handlers[type(pattern)](self, pattern, subject, node)

    # Items.

    def call(self, callee: Value, args: Args, node: ast.AST) -> Value:
        """Call a value, with a separate path for each of its items."""
        self.step()
        before = self.store
        if before is None:
            return NOTHING
        if len(callee) == 1:
            (item,) = callee
            return self._result(item, self.call_item(item, args, node, surely=True), node, surely=True)
        if not callee:
            return self.lose(f"calls {called(node)}, whose value is unknown", node)
        found: list[Value] = []
        after: list[Store | None] = []
        for item in callee:
            self.store = before.copy()
            found.append(self._result(item, self.call_item(item, args, node, surely=False), node, surely=False))
            after.append(self.store)
        self.store = meet(after)
        return join(found)

    def call_item(self, item: Item, args: Args, node: ast.AST, *, surely: bool) -> Value:
        return CALLS.handlers[type(item)](self, item, args, node, surely)

    def _result(self, item: Item, found: Value, node: ast.AST, *, surely: bool) -> Value:
        """The result of a call: it exists, unless the call raises an exception."""
        if found or self.store is None:
            return found
        receiver = item.receiver if isinstance(item, Method) else item
        if isinstance(receiver, Given) or (isinstance(receiver, ValueOf) and not surely):
            return self.raises()  # the list of a tuple cannot be changed, a number cannot be called
        return self.lose(f"calls {called(node)}, whose result is unknown", node)

    def attribute(self, value: Value, name: str, node: ast.AST) -> Value:
        found = self.attribute_if_there(value, name, node)
        if found or self.store is None:
            return found
        if value and all(_has_no_more_attributes(item) for item in value):
            return self.raises()
        return self.lose(f"uses .{name} of a value that cannot be analyzed", node)

    def attribute_if_there(self, value: Value, name: str, node: ast.AST) -> Value:
        return join([ATTRIBUTES.handlers[type(item)](self, item, name, node) for item in value])

    def elements(self, value: Value, node: ast.AST, *, ordered: bool = True) -> Value:
        """The elements of an iteration over a value. `ordered`: whether the order matters."""
        found: list[Value] = []
        for item in value:
            if ordered and any(kind in SETS for kind in types_of(item) or ()):
                self.effect(HASH_ORDER, "iterates over a set", node)
            found.append(ITERATION.handlers[type(item)](self, item, node))
        return join(found)

    def subscript(self, owner: Value, index: Value, node: ast.AST) -> Value:
        if not owner or not index:
            return self.lose("reads an element of a value that cannot be analyzed", node)
        counts = any(collections.Counter in (types_of(item) or ()) for item in owner)  # a missing key counts 0
        found = [SUBSCRIPTS.handlers[type(item)](self, item, index, node) for item in owner]
        return join((*found, INT if counts else NOTHING))

    # Findings.

    def reason(self, text: str, node: ast.AST) -> Reason:
        """A reason at a line of the user's code: inside a foreign function, the line of its call."""
        file, line = self.frame.file, getattr(node, "lineno", 0)
        for frame in self.calls.frames:
            if frame.foreign and frame.called_at is not None and not frame.called_at[0].foreign:
                file, line = frame.called_at[0].file, getattr(frame.called_at[1], "lineno", 0)
                text = f"calls {frame.name}, which {text}"
                break
        return Reason(text, Where(file, line))

    def reason_with_code(self, text: str, node: ast.AST) -> Reason:
        """The same with the expression that could not be followed, unless the text or the line says it."""
        foreign = any(frame.foreign for frame in self.calls.frames)
        said = "`" in text or text.startswith(f"calls {called(node)}")
        if foreign or said or not isinstance(node, ast.expr):
            return self.reason(text, node)
        return self.reason(f"{text}: {code_text(node)}", node)

    def effect(self, kind: str, text: str, node: ast.AST) -> None:
        self.notes.effect(kind, self.reason(text, node))

    def unknown(self, text: str, node: ast.AST, *given: Value) -> Value:
        """Record code that cannot be followed: it may do anything with the given values. By contract, the state of a
        key contains only data: code that gets nothing else changes at most that state."""
        reached = self.memory.reach(given)
        own = _is_own_data(reached)
        reason = self.reason_with_code(text, node)
        if not own:
            self.notes.effect(UNKNOWN_CALL, reason)
        roots: frozenset[Root] = frozenset()
        for item in reached:
            if isinstance(item, InputTuple):
                self.notes.read(item.port, None)
            if isinstance(item, New) and self.store is not None:
                self.store.forget(item)
                self.alter(item)
                for field in {ELEMENTS, *self.memory.objects.get(item, {})}:
                    self.put(item, field, just(Anything(frozenset((STATE,)))) if own else UNKNOWN)
            if _may_emit(item) and self.notes.hidden is None:
                self.notes.hidden = reason
            if own and isinstance(item, Anything):
                roots |= item.roots
            if isinstance(item, Known | Part) and item.root is not None:
                roots |= {item.root}
                self._expose(item, item.root, reason)
        return just(Anything(roots))

    def _expose(self, item: Known | Part, root: Root, reason: Reason) -> None:
        """Record that code that cannot be followed gets an object from outside."""
        if root == STATE:
            self.notes.writes_state = self.notes.writes_state or reason
        elif not (isinstance(item, Known) and live_objects.is_fixed(item.value)):
            self.notes.exposes((item.value if isinstance(item, Known) else root.held, ""), reason)

    def lose(self, text: str, node: ast.AST) -> Value:
        """Record that a value is unknown although no exception is known to be raised. Memory may still be growing; if
        this also happens in the last round, the code was not understood."""
        if self.store is not None:
            self.notes.lost = self.notes.lost or self.reason_with_code(text, node)
        return NOTHING

    def raises(self) -> Value:
        """An exception is surely raised: the path ends here."""
        self.touch()
        self.store = None
        return NOTHING

    def look_at(self, item: Item, node: ast.AST) -> None:
        """Record that an object is read, if it is from outside and could be changed."""
        if not isinstance(item, Known) or item.root is None or item.root == STATE:
            return
        if not live_objects.is_fixed(item.value):
            reason = self.reason(f"reads {item.root}", node)
            self.notes.effect(READS_MUTABLE, reason)
            self.notes.saw((item.value, ""), reason)

    def read_whole(self, *values: Value) -> None:
        """Record that all attributes of the input tuples among these values are read."""
        for item in self.memory.reach(values):
            if isinstance(item, InputTuple):
                self.notes.read(item.port, None)

    # Objects.

    def put(self, item: Item, field: str, value: Value) -> None:
        if isinstance(item, Known | Part):  # kept beyond the call: all of it may be read later
            self.read_whole(value)
        self.memory.put(item, field, value)

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
        fields: Fields | None = None,
    ) -> Value:
        """A new container."""
        item = self.make(kind, node, tag, length)
        self.put(item, ELEMENTS, contents)
        self.put(item, KEYS, keys)
        if fields is not None:
            self.set_fields(item, fields)
        return just(item)

    def set_fields(self, item: New, fields: Fields | None) -> None:
        if self.store is not None:
            self.store.set_fields(item, fields)

    def tree(self, node: ast.AST, tag: str) -> Value:
        return frozenset((self.make(TREE, node, tag), ValueOf(PLAIN)))

    def alter(self, item: New, name: str | None = None) -> None:
        """Record a change to a local object; code that runs later may see it."""
        if self.store is None or item not in self.store.seen:
            return
        for changed in self.delayed:
            changed.add(item)
        self.memory.alter(item, name)

    # Paths.

    def touch(self) -> None:
        """Record that an enclosing `try` may be left from here."""
        if self.store is not None:
            for collected in self.collectors:
                if collected:
                    collected[0].add(self.store)
                else:
                    collected.append(self.store.copy())

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.limits.steps:
            raise TooLong


def code_text(node: ast.AST) -> str:
    """An expression as written in the user's code."""
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= 60 else f"`{text[:57]}…`"


def called(node: ast.AST) -> str:
    """The callee of a call, as written in the user's code."""
    if isinstance(node, ast.Call):
        text = ast.unparse(node.func)
        return text if len(text) <= 40 else f"{text[:37]}…"
    return "something"


def _has_no_more_attributes(item: Item) -> bool:
    """Whether an item surely has only the known attributes: a number, a string, None."""
    if isinstance(item, Known) and item.root is not None:
        return False
    return isinstance(item, Known | Given) and all(kind in SCALARS for kind in types_of(item) or (object,))


def _may_emit(item: Item) -> bool:
    """Whether code that gets an item may emit tuples with it."""
    if isinstance(item, Known | Part):
        return item.root == STATE
    return isinstance(item, Submit | Func) or (isinstance(item, Anything) and CODE in item.roots)


def _is_own_data(items: set[Item]) -> bool:
    """Whether these are items of the state and otherwise only values and objects that this code created."""
    own = [item for item in items if _is_of_state(item)]
    return bool(own) and all(
        _is_of_state(i) or isinstance(i, ValueOf | Given | InputTuple | New) or _is_atom(i) for i in items
    )


def _is_of_state(item: Item) -> bool:
    if isinstance(item, Anything):
        return item.roots == {STATE}
    return isinstance(item, Known | Part) and item.root == STATE


def _is_atom(item: Item) -> bool:
    return isinstance(item, Known) and isinstance(item.value, ATOMS)
