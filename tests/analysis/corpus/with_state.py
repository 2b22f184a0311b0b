"""Cases: code with state and submit."""

# mypy: ignore-errors

from __future__ import annotations

import thalweg as tw
from tests.analysis.corpus.base import ALL, MANY, MAYBE, ONE, Out, case

SEEN: list[int] = []


@case("custom", "one", (1, 1), "k a", "k", by=())
def returns_new_state(t, state, submit):
    total = (state or 0) + t.a
    submit({"k": t.k, "a": total})
    return total


@case("custom", ("k",), MAYBE, "k a", "k", by="k", make=lambda f: (f, {}))
def changes_its_state(t, state, submit):
    state["n"] = state.get("n", 0) + t.a
    if state["n"] > 10:
        submit({"k": t.k, "a": state["n"]})


@case("custom", "stateless", (1, 2), "k a", "k a", by=())
def uses_no_state(t, state, submit):
    submit({"k": t.k, "a": t.a})
    if t.a > 3:
        submit(Out(t.k, t.a))


@case("custom", "one", MANY, "k a", "k", by=(), make=lambda f: (f, []))
def submits_in_a_loop(t, state, submit):
    state.append(t.a)
    for value in state:
        submit({"k": t.k, "a": value})


@case("custom", "one", (1, 1), None, (), by=(), make=lambda f: (f, []))
def emits_an_old_tuple(t, state, submit):
    state.append(t)
    submit(state[0])


@case("custom", "unknown", (1, 1), "k a", "k a", "mutates reads_mutable", by="k", why="the global SEEN")
def hides_state_beside_its_state(t, state, submit):
    SEEN.append(t.a)
    submit({"k": t.k, "a": t.a})


def _emit(submit, t):
    submit({"k": t.k, "a": t.a})


@case("custom", "stateless", (2, 2), "k a", "k a", by=())
def submits_in_a_helper(t, state, submit):
    _emit(submit, t)
    _emit(submit, t)


class Running(tw.Operator):
    def __init__(self):
        self.total = 0

    def process(self, t, port):
        self.total += t.a
        self.submit({"k": t.k, "a": self.total})


case("custom", ("k",), ONE, "k a", "k", by="k", why="writes self.total")(Running())


class Base(tw.Operator):
    def __init__(self, limit):
        self.limit = limit

    def accept(self, t):
        return t.a < self.limit

    def process(self, t, port):
        if self.accept(t):
            self.submit(t)


case("custom", "stateless", MAYBE, "a", ALL[:2], by=())(Base(3))


class Child(Base):
    def __init__(self, limit):
        super().__init__(limit)
        self.held = []

    def accept(self, t):
        self.held.append(t.a)
        return super().accept(t) and len(self.held) < 5


case("custom", ("k",), MAYBE, "a", ALL[:2], by="k", why="changes self.held")(Child(3))


class OnClass(tw.Operator):
    seen: dict[str, int] = {}

    def process(self, t, port):
        self.seen[t.k] = t.a
        self.submit({"k": t.k, "a": len(self.seen)})


case("custom", "unknown", ONE, "k a", "k", "mutates reads_mutable", by="k", why="writes self.seen[t.k]")(OnClass())


class Closing(tw.Operator):
    def process(self, t, port):
        return None

    def at_end(self):
        self.submit({"k": "", "a": 0})


case("custom", "one", (0, 0), (), ALL[:2], by=())(Closing())


class UsesResource(tw.Operator):
    def setup(self):
        return {"a": 1}

    def process(self, t, port):
        self.submit({"k": t.k, "a": self.resource.get(t.k, 0)})


case("custom", "stateless", ONE, "k", "k", by=())(UsesResource())


class WritesResource(tw.Operator):
    def setup(self):
        return {}

    def process(self, t, port):
        self.resource[t.k] = t.a
        self.submit({"k": t.k, "a": len(self.resource)})


case("custom", "unknown", ONE, "k a", "k", "mutates", by=(), why="self.resource[t.k]")(WritesResource())


class Keeper:
    def __init__(self):
        self.last = None

    def swap(self, value):
        old, self.last = self.last, value
        return old


class WithParts(tw.Operator):
    """State in an object of its own."""

    def __init__(self):
        self.keeper = Keeper()
        self.windows = {}

    def process(self, t, port):
        self.windows.setdefault(t.a, Keeper()).swap(t.x)
        if self.keeper.swap(t.a) is not None:
            self.submit({"k": t.k, "a": t.a})


case("custom", ("k",), MAYBE, "k a x", "k a", by="k", why="self.windows")(WithParts())


class TwoPorts(tw.Operator):
    """Which port a tuple takes decides what is emitted where."""

    def process(self, t, port):
        if port == 0:
            self.submit({"k": t.k, "a": t.a}, port=0)
        else:
            self.submit(Out(k=t.k, a=0), 1)


class AnyPort(tw.Operator):
    def process(self, t, port):
        self.submit({"k": t.k, "a": t.a}, t.a % 2)


MULTI = [
    (TwoPorts(), [(0, 1), (0, 1)], [["k a", "k a"], ["k a", "k"]]),
    (AnyPort(), [(0, 1), (0, 1)], [["k a", "k a"], ["k a", "k a"]]),
]
