"""Cases: values that the analysis cannot track, and code that hides effects."""

# ruff: noqa: UP031, UP042
# mypy: ignore-errors

from __future__ import annotations

import collections
import enum
import functools
import logging
import operator
import uuid
from dataclasses import dataclass
from typing import NamedTuple

import thalweg as tw
from tests.analysis.corpus.base import ALL, MANY, MAYBE, ONE, In, Out, case
from tests.analysis.corpus.monkeypatched import Tool

SEEN: list[int] = []


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def calls_dunder_of_a_function(t):
    def add(x):
        SEEN.append(x)

    add.__call__(t.a)
    return {"k": t.k, "a": 1}


@case("map", "stateless", ONE, "k a", "k")
def helper_with_nothing_to_do(t):
    def helper(extra):
        if extra is not None:
            extra.append(t.a)
        return getattr(t, "missing", 0)

    return {"k": t.k, "a": helper(None) + t.a}


class Summing:
    def __init__(self):
        super().__init__()
        self.total = 0

    def __call__(self, x):
        self.total += x
        return self.total


@functools.lru_cache
def _summing():
    return Summing()


@case("map", "unknown", ONE, "k a", "k", "mutates", why="self.total")
def calls_what_a_cache_holds(t):
    return {"k": t.k, "a": _summing()(t.a)}


@case("map", "stateless", ONE, "k a", "k")
def calls_an_object(t):
    return {"k": t.k, "a": Summing()(t.a)}


@functools.lru_cache
def _pusher():
    return functools.partial(SEEN.append)


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="an object whose code cannot be analyzed")
def calls_a_partial_that_a_cache_holds(t):
    _pusher()(t.a)
    return {"k": t.k, "a": 1}


class ResourceIsCalled(tw.Operator):
    def setup(self):
        return Summing()

    def process(self, t, port):
        self.submit({"k": t.k, "a": self.resource(t.a)})


case("custom", "unknown", ONE, "k a", "k", "mutates", by="k", why="self.total")(ResourceIsCalled())


class KeepsALambda(tw.Operator):
    def __init__(self):
        self.add = None

    def process(self, t, port):
        if self.add is None:
            self.add = lambda x: SEEN.append(x)
        self.add(t.a)
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", MANY, "k a", (), "unknown_call", by="k", why="self.add")(KeepsALambda())


@functools.lru_cache
def _id_of(k):
    return uuid.uuid4().int


@case("map", "unknown", ONE, "k", "k", "randomness unknown_call", why="the cache of _id_of")
def caches_what_was_drawn(t):
    return {"k": t.k, "a": _id_of(t.k)}


class BaseMaker:
    @classmethod
    def build(cls, t):
        SEEN.append(t.a)
        return {"k": "", "a": 0}


class Maker(BaseMaker):
    @classmethod
    def build(cls, t):
        return super().build(t)


@case("map", "unknown", ONE, "a", (), "mutates reads_mutable", why="SEEN")
def super_in_a_class_method(t):
    return Maker.build(t)


class SubmitsBySuper(tw.Operator):
    def process(self, t, port):
        super().submit({"k": t.k, "a": t.a})


case("custom", "stateless", ONE, "k a", "k a", by=())(SubmitsBySuper())


class SubmitsByClass(tw.Operator):
    def process(self, t, port):
        tw.Operator.submit(self, {"k": t.k, "a": 0})


case("custom", "stateless", ONE, "k", "k", by=())(SubmitsByClass())


class SubmitsItsWay(tw.Operator):
    def submit(self, value, port=0, *, rank=0):
        super().submit(value | {"k": "x"}, port)

    def process(self, t, port):
        self.submit({"k": t.k, "a": t.a})


case("custom", "stateless", MAYBE, "k a", (), by=())(SubmitsItsWay())


@case("custom", "stateless", ONE, "k a", "a", by=())
def changes_what_was_submitted(t, state, submit):
    row = {"k": t.k, "a": t.a}
    submit(row)
    row["k"] = "x"


class ChangesByAnAlias(tw.Operator):
    def process(self, t, port):
        row = {"k": t.k, "a": t.a}
        self.last = row
        self.last["k"] = "x"
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(ChangesByAnAlias())


class UpdatesByAnAlias(tw.Operator):
    def process(self, t, port):
        row = Out(k=t.k, a=t.a)
        self.rows = [row]
        self.rows[0].k = "x"
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(UpdatesByAnAlias())


class CountsInAClass(tw.Operator):
    def __init__(self):
        self.kind = Tool

    def process(self, t, port):
        self.kind.total = t.a
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", ONE, "k a", "k", "mutates", by="k", why="self.kind.total")(CountsInAClass())


class AppendsByAFunction(tw.Operator):
    def __init__(self):
        self.add = [SEEN.append]

    def process(self, t, port):
        self.add[0](t.a)
        self.submit({"k": t.k, "a": 1})


case("custom", "unknown", ONE, "k a", "k", "mutates reads_mutable", by="k", why="append")(AppendsByAFunction())


class OneForAll:
    def __init__(self):
        self.count = 0

    def __deepcopy__(self, memo):
        return self


class HoldsOneForAll(tw.Operator):
    def __init__(self):
        self.box = OneForAll()

    def process(self, t, port):
        self.box.count += 1
        self.submit({"k": t.k, "a": self.box.count})


case("custom", "unknown", ONE, "k", "k", "mutates reads_mutable", by="k", why="self.box.count")(HoldsOneForAll())


class CountsInACounter(tw.Operator):
    def __init__(self):
        self.counts = collections.Counter()

    def process(self, t, port):
        self.counts[t.a] += 1
        self.submit({"k": t.k, "a": self.counts[t.a]})


case("custom", ("k",), ONE, "k a", "k", by="k")(CountsInACounter())


class Removing:
    def __delitem__(self, key):
        SEEN.append(key)


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def deletes_with_code(t):
    del Removing()[t.a]
    return {"k": t.k, "a": 1}


_TABLES = {str(i): collections.defaultdict(int) for i in range(20)}


@case("map", "unknown", ONE, "k a", "k", "reads_mutable unknown_call", why="an element")
def inserts_by_reading(t):
    return {"k": t.k, "a": _TABLES[t.k][t.a]}


class Stripped(collections.namedtuple("Stripped", "name size")):
    def __new__(cls, name, size=0):
        return super().__new__(cls, name.strip(), size)


@case("map", "unknown", ONE, "k a", "a", "unknown_call", why="Stripped")
def named_tuple_with_code(t):
    return {"k": Stripped(t.k).name, "a": t.a}


class Pair(NamedTuple):
    name: str
    size: int = 0

    def twice(self):
        return self.size * 2


@case("map", "stateless", ONE, "k a", "k a")
def named_tuple_without_code(t):
    pair = Pair(t.k, t.a)
    return {"k": pair.name, "a": pair[1]}


@dataclass(kw_only=True)
class Named:
    k: str = ""


@dataclass
class Sized(Named):
    a: int = 0
    x: str = ""


@case("map", "stateless", ONE, "k a", "a")
def dataclass_with_named_fields(t):
    made = Sized(t.a, t.k)
    return {"k": made.k, "a": made.a}


@dataclass
class Loud:
    k: str

    def __setattr__(self, name, value):
        SEEN.append(name)
        object.__setattr__(self, name, value.upper())


@case("map", "unknown", ONE, "k a", "a", "unknown_call", why="Loud")
def dataclass_that_sets_itself(t):
    return {"k": Loud(t.k).k, "a": t.a}


class LoudOut(Out):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, str(value))


@case("map", "unknown", ONE, None, (), "unknown_call")
def tuple_that_sets_itself(t):
    return LoudOut(k=t.k, a=t.a)


@case("flat_map", "unknown", ONE, "k a", "k", "unknown_call", why="got.append")
def value_of_yield_from(t):
    def inner():
        yield {"k": t.k, "a": 1}
        return SEEN

    got = yield from inner()
    got.append(t.a)


class Leaving:
    def __init__(self, row):
        self.row = row

    def __enter__(self):
        return self.row

    def __exit__(self, kind, error, trace):
        if kind:
            SEEN.append(1)
        self.row["k"] = "x"


@case("map", "unknown", ONE, "k a", "a", "mutates reads_mutable", why="SEEN")
def leaves_with_code(t):
    with Leaving({"k": "", "a": 0}) as row:
        row["k"] = t.k
        row["a"] = t.a
        return row


@case("custom", "stateless", MAYBE, "k a", "k", by=())
def compares_in_a_chain(t, state, submit):
    if 1 < t.a < (submit({"k": t.k, "a": 1}) or 5):
        return


@case("map", "stateless", ONE, "k a x", "a")
def one_of_two_patterns(t):
    match t:
        case In(x=0.0 as q) | In(k=q):
            pass
    return {"k": str(q) if q == 0 else q, "a": t.a}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="SEEN")
def takes_a_slice_by_name(t):
    first = slice(0, 1)
    [SEEN][first][0].append(t.a)
    return {"k": t.k, "a": 1}


@case("flat_map", "stateless", MANY, "k a", "k a")
def assigns_a_slice(t):
    out = []
    out[:] = [{"k": t.k, "a": t.a}]
    return out


class Indexing:
    def __index__(self):
        SEEN.append(1)
        return 0

    def __eq__(self, other):
        SEEN.append(other)
        return True

    def __round__(self):
        SEEN.append(1)
        return 0


class Shy:
    def __eq__(self, other):
        return NotImplemented


INDEXING, SHY = Indexing(), Shy()


@case("map", "unknown", ONE, "k v", "k", "unknown_call", why="an index")
def index_with_code(t):
    return {"k": t.k, "a": len(t.v[INDEXING:])}


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable", why="SEEN")
def the_right_one_compares(t):
    return {"k": t.k, "a": 1 if SHY == INDEXING else 2}


@case("map", "unknown", ONE, "k", "k", "unknown_call", why="round")
def rounds_with_code(t):
    return {"k": t.k, "a": round(INDEXING)}


@dataclass
class Holder:
    inner: object


HOLDER = Holder(INDEXING)


@case("map", "unknown", ONE, "k", "k", "reads_mutable unknown_call")
def compares_what_fields_hold(t):
    return {"k": t.k, "a": 1 if Holder(1) == HOLDER else 0}


class Asking(type):
    def __contains__(cls, x):
        SEEN.append(x)
        return True

    def __instancecheck__(cls, x):
        SEEN.append(x)
        return True


class AskedClass(metaclass=Asking):
    pass


@case("filter", "unknown", MAYBE, "k", ALL, "unknown_call", why="compares with a class")
def asks_a_class(t):
    return t.k in AskedClass or isinstance(t.k, AskedClass)


class Spoken(enum.Enum):
    A = 1

    def __str__(self):
        SEEN.append(1)
        return ""


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="SEEN")
def shows_an_enum(t):
    return {"k": f"{Spoken.A}", "a": t.a}


class Told(Exception):
    def __str__(self):
        SEEN.append(1)
        return ""


@case("map", "unknown", ONE, "a", "a", "unknown_call")
def shows_an_exception(t):
    try:
        raise Told
    except Told as error:
        text = str(error)
    return {"k": text, "a": t.a}


class Sub(dict):
    @property
    def count(self):
        self["n"] = self.get("n", 0) + 1
        return self["n"]

    def grow(self):
        SEEN.append(1)


SUB = Sub()


@case("map", "unknown", ONE, "k", "k", "mutates reads_mutable unknown_call")
def property_of_a_dict(t):
    SUB.grow()
    return {"k": t.k, "a": SUB.count}


class Counting(logging.Logger):
    def info(self, *args):
        SEEN.append(args)


COUNTING = Counting("counting")


@case("map", "unknown", ONE, "k a", "k a", "mutates reads_mutable", why="SEEN")
def logger_with_code(t):
    COUNTING.info("x")
    return {"k": t.k, "a": t.a}


class Watched:
    def __get__(self, owner, cls=None):
        SEEN.append(1)
        return owner.__dict__["size"]

    def __set__(self, owner, value):
        SEEN.append(value)
        owner.__dict__["size"] = value


class WithWatched:
    size = Watched()

    def __init__(self, size):
        self.size = size


WATCHED = WithWatched(1)


@case("map", "unknown", ONE, "k a", "k", "unknown_call", why="when it is set")
def writes_with_a_descriptor(t):
    WithWatched(t.a)
    return {"k": t.k, "a": 1}


@case("map", "unknown", ONE, "k", "k", "reads_mutable unknown_call", why="size of WithWatched")
def reads_with_a_descriptor(t):
    return {"k": t.k, "a": WATCHED.size}


GROWING = collections.defaultdict(int)


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="may insert")
def formats_with_a_growing_dict(t):
    return {"k": "%(x)s" % GROWING, "a": t.a}


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="GROWING")
def gets_an_item_of_a_growing_dict(t):
    return {"k": t.k, "a": operator.getitem(GROWING, t.a)}


ORIGIN = Pair("x", 3)


@case("map", "stateless", ONE, "k a", "k")
def field_of_a_captured_named_tuple(t):
    return {"k": t.k, "a": t.a + ORIGIN.size}


@case("map", "stateless", ONE, "k", ())
def unpacks_the_keys_of_a_dict(t):
    k, a = {0: t.k, 1: 2}
    return {"k": str(k), "a": a}


class Side(str, enum.Enum):
    BUY = "buy"

    def __str__(self):
        return self.value


@case("map", "stateless", ONE, "k a", ())
def shows_a_harmless_enum(t):
    return {"k": f"{Side.BUY}" if t.k == Side.BUY else str(Side.BUY), "a": t.a + 1}


NO_RULES = []


@case("map", "stateless", ONE, "k a", "k", "reads_mutable")
def no_rules_at_all(t):
    for rule in NO_RULES:
        if rule.match(t.k):
            return {"k": t.k, "a": rule.number}
    return {"k": t.k, "a": t.a + 1}


@functools.lru_cache
def _rows():
    return []


@case("map", "unknown", ONE, "k a", (), "mutates", why="_rows()")
def changes_what_a_cache_holds(t):
    row = {"k": t.k, "a": t.a}
    _rows().append(row)
    _rows()[0]["k"] = "x"
    return row


@case("map", "unknown", ONE, "k a", "k", "mutates reads_mutable", why="GROWING")
def changes_by_the_type(t):
    dict.__setitem__(GROWING, t.k, t.a)
    return {"k": t.k, "a": 1}


class SetsByAnAlias(tw.Operator):
    def process(self, t, port):
        row = {"k": t.k, "a": t.a}
        self.last = row
        operator.setitem(self.last, "k", "x")
        self.submit(row)


case("custom", ("k",), ONE, "k a", (), by="k")(SetsByAnAlias())


@dataclass
class Plain:
    k: str = ""
    a: int = 0


@case("map", "stateless", ONE, "k a", ())
def deletes_an_attribute(t):
    made = Plain(t.k, t.a)
    del made.k
    return made


class Echo:
    def __repr__(self):
        SEEN.append(1)
        return ""

    def __str__(self):
        return ""


@case("map", "unknown", ONE, "a", "a", "mutates reads_mutable", why="SEEN")
def shows_an_object_in_ascii(t):
    return {"k": f"{Echo()!a}", "a": t.a}


@case("map", "stateless", ONE, "a", "a")
def shows_an_object(t):
    return {"k": f"{Echo()}", "a": t.a}
