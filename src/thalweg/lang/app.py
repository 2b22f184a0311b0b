"""`tw.App` and `tw.Stream`: the language. Building a graph runs nothing."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from thalweg.errors import GraphError, Where, described, did_you_mean
from thalweg.ir import operators as ops
from thalweg.ir.endpoints import Feed, Files, SinkEndpoint, SourceEndpoint
from thalweg.ir.expr import Apply, Expr, Record
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.logic import Logic
from thalweg.ir.operators import DEAD_LETTER, MARK, POLICIES, Function, Operator, StreamRef
from thalweg.ir.times import duration
from thalweg.ir.types import BOOL, DATETIME, FLOAT, INT, STR, AttributeType, TupleType, accepts
from thalweg.lang import agg, library
from thalweg.lang.aggregates import aggregate_logic, as_spec, has_kernel
from thalweg.lang.endpoints import check_sink, check_source, exported
from thalweg.lang.functions import read_function, unknown_attribute
from thalweg.lang.loops import fold_loops
from thalweg.lang.params import current_scope
from thalweg.lang.place import assigned_name, call_place, prefixed, user_frame
from thalweg.lang.tuples import Tuple, check_names
from thalweg.lang.window import Duration, Last, Window, Within, names
from thalweg.library.meet import EveryPunctuation, LeastTime, MeetConfig
from thalweg.library.windows import WindowSpec

TIME_TYPES = (INT, DATETIME)
RowFunction = Callable[[Any], Any]


class App:
    """An application: a named graph of operators. Make it at module level; nothing runs until it is started."""

    def __init__(self, name: str) -> None:
        frame = user_frame()
        self.where = call_place(frame)
        self.name = word(name, "application", self.where)
        self.module = str(frame.f_globals.get("__name__", ""))
        self._scope = current_scope()
        self._scope.app_modules.add(self.module)
        self._operators: list[Operator] = []
        self._immediate: set[str] = set()  # feedback operators whose loop is run tuple by tuple
        self._calls: list[str] = []  # the names of its composites

    def source(self, endpoint: SourceEndpoint, tuple_type: type[Tuple], *, name: str | None = None) -> Stream:
        """A stream of the tuples that an endpoint holds."""
        site = _Site(self, "source", name)
        if not (isinstance(tuple_type, type) and issubclass(tuple_type, Tuple)):
            raise GraphError(
                "a source needs a tuple type",
                where=site.where,
                expected="a subclass of tw.Tuple",
                found=repr(tuple_type),
            )
        check_source(endpoint, tuple_type.tuple_type, site.where)
        return site.stream(
            ops.Source(name=site.name, outputs=(tuple_type.tuple_type,), where=site.where, endpoint=endpoint)
        )

    def imported(self, export: str, tuple_type: type[Tuple], *, name: str | None = None) -> Stream:
        """The stream that another application exports under this name; it may run before, after or beside this one."""
        site = _Site(self, "imported", name)
        declared = _declared(tuple_type, site)
        endpoint = exported(export, declared, site.where)
        return site.stream(ops.Source(name=site.name, outputs=(declared,), where=site.where, endpoint=endpoint))

    def feedback(self, tuple_type: type[Tuple], *, immediate: bool = False, name: str | None = None) -> Stream:
        """The start of a loop: the tuples that `.feed(loop)` sends back, each in the epoch behind its own; or, with
        `immediate`, before the next tuple enters the loop, whose operators then run one tuple at a time."""
        site = _Site(self, "feedback", name)
        if immediate:
            self._immediate.add(site.name)
        return site.stream(ops.Feedback(name=site.name, outputs=(_declared(tuple_type, site),), where=site.where))

    def graph(self) -> LogicalGraph:
        """The finished graph: every stream must end somewhere."""
        self._scope.check(self.module)
        params = tuple((d.name, d.shown) for d in self._scope.of(self.module))
        graph = LogicalGraph(self.name, _with_steps(_without_idle_marks(tuple(self._operators))), params)
        if not graph.sources:
            raise GraphError(
                f"application {self.name} has no source", where=self.where, hint="app.source(tw.files(…), Type)"
            )
        for stream, consumers in graph.consumers.items():
            if not consumers and not _may_end(graph, stream):
                raise GraphError(
                    f"the stream {stream} leads nowhere",
                    operator=stream.operator,
                    where=graph.by_name[stream.operator].where,
                    expected="an operator or a sink behind every output port",
                    hint=".sink(tw.collect())",
                )
        fed = {sink.endpoint.into for sink in graph.sinks if isinstance(sink.endpoint, Feed)}
        for loop in graph.loops:
            if loop.name not in fed:
                raise GraphError(
                    f"nothing is fed back into {loop.name}",
                    operator=loop.name,
                    where=loop.where,
                    expected="a stream with .feed(loop)",
                )
        _check_folders(graph)
        return replace(graph, operators=fold_loops(graph.operators, frozenset(self._immediate)))

    def _add(self, operator: Operator) -> None:
        self._operators.append(operator)


def word(name: str, what: str, where: Where) -> str:
    """A name that stands in the text form of a plan and in generated code as one word."""
    if not name or any(c.isspace() or not c.isprintable() or c in "#=[]" for c in name):
        raise GraphError(f"bad {what} name", where=where, expected="a word without spaces or # = [ ]", found=repr(name))
    return name


class _Site:
    """The call of the user's program that makes an operator: its place and the operator's name."""

    def __init__(self, app: App, kind: str, name: str | None) -> None:
        frame = user_frame()
        self.app, self.where = app, call_place(frame)
        self.name = self._own(name) if name is not None else self._derived(kind, assigned_name(frame))

    def _own(self, name: str) -> str:
        taken = {o.name: o for o in self.app._operators}
        name = prefixed(word(name, "operator", self.where))
        if name in taken:
            raise GraphError(
                f"two operators are called {name}",
                where=self.where,
                found=f"the first stands at {taken[name].where}",
                hint="sinks are operators too; name= may be left out",
            )
        return name

    def _derived(self, kind: str, assigned: tuple[str, bool] | None) -> str:
        base = prefixed(kind if assigned is None else assigned[0] if assigned[1] else f"{assigned[0]}.{kind}")
        taken = {o.name for o in self.app._operators}
        numbered = [base, *(f"{base}_{i}" for i in range(2, len(taken) + 3))]
        return next(name for name in numbered if name not in taken)

    def stream(self, operator: Operator, like: Stream | None = None) -> Stream:
        """The first output of a new operator. Marks pass beside operators that emit at their tuples' own positions."""
        self.app._add(operator)
        made = Stream(self.app, operator.output, operator.outputs[0])
        if like is not None:
            made = replace(made, marks=like.marks, time=like.time, timed=like.timed)
        if operator.dead_port is not None:
            letters = Stream(self.app, StreamRef(operator.name, operator.dead_port), DEAD_LETTER)
            made = replace(made, beside_letters=letters)
        return made

    def policy(self, on_error: str) -> tuple[str, tuple[TupleType, ...]]:
        """A checked error policy, and the output port that it adds."""
        if on_error not in POLICIES:
            raise GraphError(
                "unknown error policy",
                where=self.where,
                expected=", ".join(POLICIES),
                found=repr(on_error),
                hint=did_you_mean(str(on_error), POLICIES),
            )
        return on_error, (DEAD_LETTER,) if on_error == "dead_letter" else ()

    def declared(self, into: type[Tuple] | None) -> TupleType:
        return _declared(into, self)

    def time_attribute(self, stream: Stream) -> str:
        """The attribute with a stream's event time."""
        if not stream.timed or stream.tuple_type.get(stream.time) is None:
            raise GraphError(
                f"the stream {stream.ref} has no event time",
                where=self.where,
                expected="a stream behind .event_time(attribute), with that attribute"
                + (f" ({stream.time})" if stream.time else ""),
                found=str(stream.tuple_type),
                hint='.event_time("attribute", lateness=…)' if not stream.timed else f"keep {stream.time} in the map",
            )
        return stream.time

    def window(self, stream: Stream, spec: WindowSpec) -> WindowSpec:
        """The window, checked against the stream that it sees."""
        stream._check_attributes(spec.by, self)
        if spec.timed:
            time = spec.on or self.time_attribute(stream)
            if not stream.timed:
                self.time_attribute(stream)
            stream._check_attributes((time,), self)
            self.check_unit(stream, time, spec.clock)
            return replace(spec, on=time)
        if spec.punctuations is not None and (stream.marks is None or stream.timed):
            raise GraphError(
                f"the stream {stream.ref} has no punctuation",
                where=self.where,
                expected="a stream behind .punctor(…)",
                hint=".punctor(lambda t: …), true for the tuples that end a window",
            )
        if spec.on:
            stream._check_attributes((spec.on,), self)
            if (kind := stream.tuple_type.get(spec.on)) in (STR, BOOL):
                raise GraphError(
                    f"a delta in {spec.on}, which is no number", where=self.where, expected="a number", found=str(kind)
                )
        return spec

    def check_unit(self, stream: Stream, attribute: str, clock: bool) -> None:
        """A length of time is in the unit of the attribute: 10 could be seconds, for a datetime it would be 10 µs."""
        kind = stream.tuple_type.get(attribute)
        if clock != (kind == DATETIME):
            raise GraphError(
                "a length of time in another unit than the event time",
                where=self.where,
                expected="a timedelta" if kind == DATETIME else f"an int, in the unit of {attribute}",
                found="a timedelta" if clock else "an int",
            )

    def marks_of(self, streams: list[Stream]) -> StreamRef | None:
        """The marks of several streams together; None if they have different ones."""
        if not _alike_marked(streams):
            return None
        refs = list(dict.fromkeys(s.marks for s in streams if s.marks is not None))
        if len(refs) <= 1:
            return refs[0] if refs else None
        logic: Logic = LeastTime() if streams[0].timed else EveryPunctuation()
        logic.config = MeetConfig(len(refs))
        name = self._derived(f"{self.name}.marks", None)
        operator = ops.Process(
            name=name,
            inputs=tuple(refs),
            outputs=(MARK,),
            where=self.where,
            word="marks",
            logic=logic,
            by=((),) * len(refs),
        )
        self.app._add(operator)
        return operator.output

    def process(
        self,
        word: str,
        logic: Logic,
        streams: list[Stream],
        *,
        by: list[tuple[str, ...]] | None,
        outputs: list[TupleType],
        marks: StreamRef | None = None,
        timed: bool = False,
        on_error: str = "fail",
    ) -> list[Stream]:
        """A new operator of Python code, and its output streams."""
        for other in streams[1:]:
            streams[0]._same_app(other, self)
        policy, letters = self.policy(on_error)
        passed = (MARK,) if marks is not None else ()
        operator = ops.Process(
            name=self.name,
            inputs=(*(s.ref for s in streams), *((marks,) if marks is not None else ())),
            outputs=(*outputs, *passed, *letters),
            where=self.where,
            on_error=policy,
            word=word,
            logic=logic,
            by=None if by is None else tuple(by),
            marked=marks is not None,
            timed=timed,
            results=len(outputs),
        )
        first = self.stream(operator, streams[0] if marks is None else None)
        made = [replace(first, ref=StreamRef(self.name, i), tuple_type=t) for i, t in enumerate(outputs)]
        if marks is not None:
            behind = StreamRef(self.name, len(outputs))
            made = [replace(s, marks=behind, timed=timed, time=streams[0].time) for s in made]
        return made

    def windowed(
        self, stream: Stream, word: str, spec: WindowSpec, logic: Logic, output: TupleType, on_error: str
    ) -> Stream:
        """An operator over a window, with its late stream where the window is in event time."""
        outputs = [output, stream.tuple_type] if spec.timed else [output]
        marks = stream.marks if spec.marked else None
        made = self.process(
            word, logic, [stream], by=[spec.by], outputs=outputs, marks=marks, timed=spec.timed, on_error=on_error
        )
        return made[0].with_late(made[1]) if spec.timed else made[0]


@dataclass(frozen=True)
class Stream:
    """The tuples of one output port."""

    app: App
    ref: StreamRef
    tuple_type: TupleType
    marks: StreamRef | None = None  # punctuation or event time
    time: str = ""  # the attribute with the event time
    timed: bool = False
    beside_late: Stream | None = field(default=None, compare=False, repr=False)
    beside_letters: Stream | None = field(default=None, compare=False, repr=False)

    def _site(self, kind: str, name: str | None) -> _Site:
        return _Site(self.app, kind, name)

    def with_late(self, late: Stream) -> Stream:
        return replace(self, beside_late=late)

    @property
    def late(self) -> Stream:
        """Behind a window or join by time: the tuples that came too late for all their windows."""
        if self.beside_late is None:
            raise GraphError(
                f"the stream {self.ref} has no late tuples beside it",
                where=call_place(user_frame()),
                expected="the result of an operator with a window by time",
            )
        return self.beside_late

    @property
    def dead_letters(self) -> Stream:
        """Behind an operator with on_error="dead_letter": the tuples on which it failed, with the error."""
        if self.beside_letters is None:
            raise GraphError(
                f"the stream {self.ref} has no dead letters beside it",
                where=call_place(user_frame()),
                expected='the result of an operator with on_error="dead_letter"',
            )
        return self.beside_letters

    apply = library.apply
    sort = library.sort
    top_k = library.top_k
    skyline = library.skyline
    dedup = library.dedup
    lookup = library.lookup
    merge_ordered = library.merge_ordered
    barrier = library.barrier
    pair = library.pair
    custom = library.custom

    def map(
        self,
        function: RowFunction,
        into: type[Tuple] | None = None,
        *,
        on_error: str = "fail",
        name: str | None = None,
    ) -> Stream:
        """One tuple out for each tuple in. The function returns a dict or a tuple; `into` declares its type."""
        site = _Site(self.app, "map", name)
        policy, letters = site.policy(on_error)
        read = read_function(function, self.tuple_type, site.where)
        output = _map_type(read, into, site)
        if isinstance(read.expr, Record):
            read = _in_declared_order(read, output, site)
        elif read.expr is not None:
            raise GraphError(
                "a map returns a tuple",
                where=site.where,
                expected="a dict of attributes",
                found=f"a single {read.expr.type}",
            )
        return site.stream(
            ops.Map(
                name=site.name,
                inputs=(self.ref,),
                outputs=(output, *letters),
                where=site.where,
                on_error=policy,
                function=read,
            ),
            self,
        )

    def filter(self, predicate: RowFunction, *, on_error: str = "fail", name: str | None = None) -> Stream:
        """The tuples for which the predicate is true."""
        site = _Site(self.app, "filter", name)
        policy, letters = site.policy(on_error)
        read = read_function(predicate, self.tuple_type, site.where, as_truth=True)
        return site.stream(
            ops.Filter(
                name=site.name,
                inputs=(self.ref,),
                outputs=(self.tuple_type, *letters),
                where=site.where,
                on_error=policy,
                function=read,
            ),
            self,
        )

    def flat_map(
        self, function: RowFunction, into: type[Tuple], *, on_error: str = "fail", name: str | None = None
    ) -> Stream:
        """Any number of tuples for each tuple in: the function returns or yields dicts or tuples."""
        site = _Site(self.app, "flat_map", name)
        policy, letters = site.policy(on_error)
        read = Function(function, site.where, None, "it may return several tuples")
        output = _declared(into, site)
        return site.stream(
            ops.FlatMap(
                name=site.name,
                inputs=(self.ref,),
                outputs=(output, *letters),
                where=site.where,
                on_error=policy,
                function=read,
            ),
            self,
        )

    def map_batches(
        self,
        function: Callable[[Any], Any],
        into: type[Tuple],
        *,
        library: str = "arrow",
        on_error: str = "fail",
        name: str | None = None,
    ) -> Stream:
        """A function on whole Arrow tables (or Polars frames): a row out for each row in, each a function of its row
        alone, because how tuples are cut into batches is the plan's matter."""
        site = _Site(self.app, "map_batches", name)
        policy, letters = site.policy(on_error)
        if library not in ("arrow", "polars"):
            raise GraphError("unknown library", where=site.where, expected="arrow or polars", found=repr(library))
        read = Function(function, site.where, None, "it takes whole batches")
        operator = ops.MapBatches(
            name=site.name,
            inputs=(self.ref,),
            outputs=(_declared(into, site), *letters),
            where=site.where,
            on_error=policy,
            function=read,
            library=library,
        )
        return site.stream(operator, self)

    def event_time(
        self, attribute: str, *, lateness: Duration = 0, step: Duration | None = None, name: str | None = None
    ) -> Stream:
        """The event time of a stream is that of an attribute (a datetime, or an int in any unit); tuples may come
        `lateness` after others that are newer. Event time moves in steps; by default the windows decide how large."""
        site = _Site(self.app, "event_time", name)
        self._check_attributes((attribute,), site)
        if self.tuple_type.get(attribute) not in TIME_TYPES:
            raise GraphError(
                f"event_time: {attribute} is no time",
                where=site.where,
                expected=" or ".join(map(str, TIME_TYPES)),
                found=str(self.tuple_type.get(attribute)),
            )
        for label, value, least in (("lateness", lateness, 0), ("step", 1 if step is None else step, 1)):
            if not isinstance(value, int | dt.timedelta) or duration(value) < least:
                raise GraphError(
                    f"event_time: bad {label}",
                    where=site.where,
                    expected=f"a timedelta, or an int in the unit of an int attribute, {least} or more",
                    found=repr(value),
                )
        for given in (lateness or None, step):
            if given is not None:
                site.check_unit(self, attribute, isinstance(given, dt.timedelta))
        operator = ops.EventTime(
            name=site.name,
            inputs=(self.ref,),
            outputs=(self.tuple_type, MARK),
            where=site.where,
            attribute=attribute,
            lateness=duration(lateness),
            step=0 if step is None else duration(step),
        )
        return replace(site.stream(operator), marks=StreamRef(site.name, 1), time=attribute, timed=True)

    def punctor(self, predicate: RowFunction, *, before: bool = False, name: str | None = None) -> Stream:
        """The stream with a punctuation behind (or before) each tuple for which the predicate is true."""
        site = _Site(self.app, "punctor", name)
        read = read_function(predicate, self.tuple_type, site.where, as_truth=True)
        operator = ops.Punctor(
            name=site.name,
            inputs=(self.ref,),
            outputs=(self.tuple_type, MARK),
            where=site.where,
            function=read,
            before=before,
        )
        return replace(site.stream(operator), marks=StreamRef(site.name, 1))

    def delay(self, seconds: float, *, name: str | None = None) -> Stream:
        """The same tuples, later: each epoch waits so long before they go on."""
        site = _Site(self.app, "delay", name)
        return self._paced(site, delay_s=_positive(seconds, "delay", site))

    def throttle(self, rate: float, *, name: str | None = None) -> Stream:
        """The same tuples, at most so many per second on each channel."""
        site = _Site(self.app, "throttle", name)
        return self._paced(site, rate_per_s=_positive(rate, "throttle", site))

    def _paced(self, site: _Site, *, delay_s: float = 0.0, rate_per_s: float | None = None) -> Stream:
        operator = ops.Pace(
            name=site.name,
            inputs=(self.ref,),
            outputs=(self.tuple_type,),
            where=site.where,
            delay_s=delay_s,
            rate_per_s=rate_per_s,
        )
        return site.stream(operator, self)

    def split_randomly(self, shares: Iterable[float], *, seed: int, name: str | None = None) -> tuple[Stream, ...]:
        """Each tuple goes to one output stream by chance, in these shares. The same seed gives the same streams."""
        site = _Site(self.app, "split_randomly", name)
        given = list(shares)
        if not all(isinstance(share, int | float) and share >= 0 for share in given) or not sum(given) > 0:
            raise GraphError(
                "split_randomly: bad shares",
                where=site.where,
                expected="numbers, 0 or more, not all of them 0",
                found=repr(given),
            )
        if type(seed) is not int:
            raise GraphError("split_randomly: bad seed", where=site.where, expected="an int", found=repr(seed))
        bounds = tuple(sum(given[: i + 1]) / sum(given) for i in range(len(given)))
        operator = ops.RandomSplit(
            name=site.name,
            inputs=(self.ref,),
            outputs=(self.tuple_type,) * len(given),
            where=site.where,
            bounds=bounds,
            seed=seed,
        )
        first = site.stream(operator, self)
        return tuple(replace(first, ref=StreamRef(site.name, port)) for port in range(len(given)))

    def split(
        self, function: RowFunction, ports: int, *, on_error: str = "fail", name: str | None = None
    ) -> tuple[Stream, ...]:
        """Each tuple goes to the one of `ports` output streams whose number the function returns."""
        site = _Site(self.app, "split", name)
        policy, letters = site.policy(on_error)
        if type(ports) is not int or ports < 1:
            raise GraphError("split: bad number of ports", where=site.where, expected="1 or more", found=repr(ports))
        read = read_function(function, self.tuple_type, site.where)
        if read.expr is not None and (isinstance(read.expr, Record) or read.expr.type is not INT):
            raise GraphError(
                "split: the function names a port",
                where=site.where,
                expected=f"an int in 0..{ports - 1}",
                found="a dict" if isinstance(read.expr, Record) else f"a {read.expr.type}",
                hint="0 if … else 1" if ports == 2 else None,
            )
        operator = ops.Split(
            name=site.name,
            inputs=(self.ref,),
            outputs=((self.tuple_type,) * ports) + letters,
            where=site.where,
            on_error=policy,
            function=read,
        )
        first = site.stream(operator, self)
        return tuple(replace(first, ref=StreamRef(site.name, port)) for port in range(ports))

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """The tuples of several streams of one type, in the order of their positions."""
        site = _Site(self.app, "union", name)
        for other in others:
            self._same_app(other, site)
            if not self.tuple_type.same_attributes(other.tuple_type):
                raise GraphError(
                    "union of different tuple types",
                    where=site.where,
                    expected=str(self.tuple_type),
                    found=str(other.tuple_type),
                    hint="a .map() of one of them to the attributes of the other, in their order",
                )
        refs = (self.ref, *(other.ref for other in others))
        marks = site.marks_of([self, *others])
        made = site.stream(ops.Union(name=site.name, inputs=refs, outputs=(self.tuple_type,), where=site.where))
        same_time = len({s.time for s in (self, *others)}) == 1
        timed = marks is not None and self.timed
        return replace(made, marks=marks, timed=timed, time=self.time if timed and same_time else "")

    def aggregate(
        self, window: Window, *, on_error: str = "fail", name: str | None = None, **fields: agg.Aggregate
    ) -> Stream:
        """Aggregates over a window: a result per tuple of a running window, per slide of a sliding one, and when a
        tumbling one closes."""
        site = _Site(self.app, "aggregate", name)
        if not isinstance(window, ops.Running | ops.Sliding | ops.Tumbling | WindowSpec):
            raise GraphError(
                "not a window for an aggregate",
                where=site.where,
                expected="window.running(…), window.tumbling(…) or window.sliding(…)",
                found=described(window),
            )
        if not fields:
            raise GraphError("an aggregate without fields", where=site.where, hint="total=agg.sum('volume')")
        self._check_attributes(window.by, site)
        check_names(fields, site.name, site.where)
        spec = site.window(self, as_spec(window))
        table = agg.FoldTable(self.tuple_type, site.where, self.tuple_type.get(spec.on) if spec.timed else None)
        record = Record(tuple((field, table.resolve(aggregate)) for field, aggregate in fields.items()))
        output = TupleType(site.name, tuple((field, expr.type) for field, expr in record.fields))
        folds = tuple(table.folds)
        if not has_kernel(window, folds):
            return site.windowed(self, "aggregate", spec, aggregate_logic(spec, folds, record), output, on_error)
        assert not isinstance(window, WindowSpec)
        policy, letters = site.policy(on_error)
        return site.stream(
            ops.Aggregate(
                name=site.name,
                inputs=(self.ref,),
                outputs=(output, *letters),
                where=site.where,
                on_error=policy,
                window=window,
                folds=folds,
                fields=record,
            ),
            self,
        )

    def join(
        self,
        other: Stream,
        window: Last | Within,
        *,
        mine: Last | Within | None = None,
        on: str | Iterable[str] | Mapping[str, str] = (),
        where: Callable[[Any, Any], Any] | None = None,
        band: tuple[str, float] | tuple[str, str, float] | None = None,
        on_error: str = "fail",
        name: str | None = None,
    ) -> Stream:
        """Each tuple of this stream with those tuples of the other that its `window` holds and that match: that have
        the same key (`on`; a dict maps this side's names to the other's), that lie in a `band` (attribute, distance),
        for which `where` is true. With `mine` this side is stored too, and each tuple of the other finds its partners.
        """
        site = _Site(self.app, "join", name)
        self._same_app(other, site)
        if not isinstance(window, Last | Within) or not (mine is None or isinstance(mine, Last | Within)):
            raise GraphError(
                "not a window for a join",
                where=site.where,
                expected="window.last(count, by=…) or window.within(time)",
                found=described(window if not isinstance(window, Last | Within) else mine),
            )
        key = tuple(on) if isinstance(on, Mapping) else names(on)
        theirs = tuple(on.values()) if isinstance(on, Mapping) else key
        if not key and where is None and band is None:
            raise GraphError("a join needs a key", where=site.where, expected='on="attribute", band=… or where=…')
        self._check_attributes(key, site)
        other._check_attributes(theirs, site)
        for side, wanted in ((window, theirs), (mine, key)):
            if isinstance(side, Last) and side.by not in ((), wanted):
                raise GraphError(
                    "the join's window is kept by another key",
                    where=site.where,
                    expected=f"by={wanted}",
                    found=f"by={side.by}",
                )
        simple = key == theirs and key and where is None and band is None and on_error == "fail"
        if not (simple and window == Last(1, window.by if isinstance(window, Last) else ()) and _not_stored(mine)):
            return library.windowed_join(
                self,
                other,
                window,
                mine=mine,
                on=(key, theirs),
                where=where,
                band=band,
                on_error=on_error,
                name=site.name if name is not None else None,
            )
        output = library.joined_type(site.name, self.tuple_type, other.tuple_type, (key, theirs), site)
        return site.stream(
            ops.Join(name=site.name, inputs=(self.ref, other.ref), outputs=(output,), where=site.where, on=key), self
        )

    def sink(self, endpoint: SinkEndpoint, *, name: str | None = None) -> None:
        """The end of a stream."""
        site = _Site(self.app, "sink", name)
        check_sink(endpoint, self.tuple_type, site.where)
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))

    def export(self, export: str, *, name: str | None = None) -> None:
        """Give these tuples to other applications under a name: they read them with `app.imported(name, Type)`."""
        site = _Site(self.app, "export", name)
        endpoint = exported(export, self.tuple_type, site.where)
        check_sink(endpoint, self.tuple_type, site.where)
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))

    def feed(self, loop: Stream, *, name: str | None = None) -> None:
        """The end of a loop: these tuples come back as those of `loop`, which `app.feedback(Type)` made."""
        site = _Site(self.app, "feed", name)
        self._same_app(loop, site)
        start = next(o for o in self.app._operators if o.name == loop.ref.operator)
        if not isinstance(start, ops.Feedback):
            raise GraphError(
                "tuples are fed back into an ordinary stream",
                where=site.where,
                expected="a stream that app.feedback(Type) made",
                found=f"the stream of {start.name}, a {start.kind} ({start.where})",
                hint=f"loop = app.feedback({self.tuple_type.name}); use it in a union; then .feed(loop)",
            )
        fed = [o.name for o in self.app._operators if isinstance(o, ops.Sink) and o.endpoint == Feed(start.name)]
        if fed:
            raise GraphError(
                f"{start.name} is fed twice", where=site.where, found=f"{fed[0]} feeds it, too", hint="feed a .union()"
            )
        if not self.tuple_type.same_attributes(loop.tuple_type):
            raise GraphError(
                "a loop of different tuple types",
                where=site.where,
                expected=str(loop.tuple_type),
                found=str(self.tuple_type),
            )
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=Feed(start.name)))

    def _same_app(self, other: Stream, site: _Site) -> None:
        if not isinstance(other, Stream):
            raise GraphError("not a stream", where=site.where, expected="a stream", found=described(other))
        if other.app is not self.app:
            raise GraphError(
                "streams of two applications meet",
                where=site.where,
                expected=f"a stream of {self.app.name}",
                found=f"the stream {other.ref} of {other.app.name}",
            )

    def _check_attributes(self, attributes: tuple[str, ...], site: _Site) -> None:
        for attribute in attributes:
            if self.tuple_type.get(attribute) is None:
                raise unknown_attribute(attribute, self.tuple_type, site.where)


def _alike_marked(streams: list[Stream]) -> bool:
    """Whether all streams have event time, or all punctuation; otherwise what they meet in has neither."""
    return all(s.marks is not None for s in streams) and len({s.timed for s in streams}) == 1


def _may_end(graph: LogicalGraph, stream: StreamRef) -> bool:
    """Marks need no taker, nor do tuples that came too late."""
    operator = graph.by_name[stream.operator]
    if stream.port == operator.mark_output:
        return True
    return isinstance(operator, ops.Process) and operator.timed and 0 < stream.port < operator.results


def _not_stored(window: Last | Within | None) -> bool:
    return window is None or window == Last(0, window.by if isinstance(window, Last) else ())


def _positive(value: float, word: str, site: _Site) -> float:
    if not isinstance(value, int | float) or not value > 0:
        raise GraphError(f"{word}: bad number", where=site.where, expected="more than 0", found=repr(value))
    return float(value)


def _without_idle_marks(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Without the merged marks of several streams that nothing acts on."""
    used = {stream.operator for operator in operators for stream in operator.inputs}
    kept = tuple(o for o in operators if not (isinstance(o, ops.Process) and o.word == "marks" and o.name not in used))
    return kept if len(kept) == len(operators) else _without_idle_marks(kept)


def _with_steps(operators: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """Event time in the largest steps that the windows behind it allow."""
    sizes: list[int] = []
    for operator in operators:
        config = getattr(operator.logic, "config", None) if isinstance(operator, ops.Process) else None
        spec = getattr(config, "window", None)
        if isinstance(spec, WindowSpec) and spec.timed:
            sizes += [spec.size, spec.step]
        if (within := getattr(config, "within", None)) is not None:
            sizes.append(within)
    step = math.gcd(*sizes) or 1
    return tuple(replace(o, step=step) if isinstance(o, ops.EventTime) and not o.step else o for o in operators)


def _check_folders(graph: LogicalGraph) -> None:
    """Files are named by epoch: two sinks in one folder would overwrite each other's without a word."""
    read = {Path(s.endpoint.path).absolute() for s in graph.sources if isinstance(s.endpoint, Files)}
    written: dict[Path, str] = {}
    for sink in graph.sinks:
        if not isinstance(sink.endpoint, Files):
            continue
        folder = Path(sink.endpoint.path).absolute()
        if folder in read:
            raise GraphError(
                "a sink writes into the folder that a source reads",
                operator=sink.name,
                where=sink.where,
                expected="a folder of its own",
                found=str(folder),
            )
        if folder in written:
            raise GraphError(
                f"two sinks write into {folder}",
                operator=sink.name,
                where=sink.where,
                expected="a folder for each sink",
                found=f"{written[folder]} writes there too",
            )
        written[folder] = sink.name


def _declared(into: type[Tuple] | None, site: _Site) -> TupleType:
    if not (isinstance(into, type) and issubclass(into, Tuple)):
        raise GraphError("not a tuple type", where=site.where, expected="a subclass of tw.Tuple", found=repr(into))
    return into.tuple_type


def _map_type(read: Function, into: type[Tuple] | None, site: _Site) -> TupleType:
    if into is not None:
        return _declared(into, site)
    if isinstance(read.expr, Record):
        check_names((name for name, _ in read.expr.fields), site.name, site.where)
        return TupleType(site.name, tuple((name, expr.type) for name, expr in read.expr.fields))
    if read.expr is not None:
        return TupleType(site.name, ())  # refused by the caller, with what it found
    raise GraphError(
        f"the output type of this map cannot be inferred: {read.opaque_because}",
        where=site.where,
        expected="a declared tuple type",
        hint="stream.map(function, Out), where Out is a subclass of tw.Tuple",
    )


def _in_declared_order(read: Function, output: TupleType, site: _Site) -> Function:
    """The function with its fields in the order, and of the types, of the output type."""
    assert isinstance(read.expr, Record)
    fields = dict(read.expr.fields)
    for name in fields:
        if output.get(name) is None:
            raise GraphError(
                f"the map returns {name}, which {output.name} does not have",
                where=site.where,
                expected=str(output),
                hint=did_you_mean(name, output.names),
            )
    for name, kind in output.attributes:
        if name not in fields:
            raise GraphError(f"the map does not return {name}", where=site.where, expected=str(output))
        if not accepts(kind, fields[name].type):
            raise GraphError(
                f"the map returns another type for {name}",
                where=site.where,
                expected=str(kind),
                found=str(fields[name].type),
            )
    for name, kind in output.attributes:
        found = fields[name].type
        if found != kind and not (kind is FLOAT and found is INT):
            return replace(read, expr=None, opaque_because=f"{found} becomes {kind}")
    return replace(
        read, expr=Record(tuple((name, _as_declared(fields[name], kind)) for name, kind in output.attributes))
    )


def _as_declared(expr: Expr, kind: AttributeType) -> Expr:
    """An int where a float is declared becomes one."""
    return expr if expr.type == kind else Apply("float", (expr,), FLOAT)
