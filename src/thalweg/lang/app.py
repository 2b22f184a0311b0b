"""`tw.App` and `tw.Stream`: the language. Building a graph runs nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.errors import GraphError, described
from thalweg.ir import operators as ops
from thalweg.ir.endpoints import Feed, Files, SinkEndpoint, SourceEndpoint
from thalweg.ir.expr import Record
from thalweg.ir.graph import LogicalGraph
from thalweg.ir.hints import Hint
from thalweg.ir.operators import BAD_RECORD, MARK, Function, Operator, StreamRef
from thalweg.ir.row_endpoints import Kafka
from thalweg.ir.times import duration
from thalweg.ir.types import DATETIME, INT, TupleType
from thalweg.lang import agg, control, inside, library
from thalweg.lang.aggregates import aggregate_logic, as_spec, has_kernel
from thalweg.lang.endpoints import check_sink, check_source, exported
from thalweg.lang.finish import finished
from thalweg.lang.functions import read_function, unknown_attribute
from thalweg.lang.outputs import declared_type, in_declared_order, map_type
from thalweg.lang.params import current_scope
from thalweg.lang.place import call_place, user_frame
from thalweg.lang.row_endpoints import check_kafka_sink, kafka_source, through
from thalweg.lang.site import Site, word
from thalweg.lang.tuples import Tuple, check_names
from thalweg.lang.window import Duration, Last, Window, Within, names
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
        self._hints: dict[str, Hint] = {}  # by operator: what its plan should be like

    def source(
        self,
        endpoint: SourceEndpoint,
        tuple_type: type[Tuple],
        *,
        partition_by: str | Iterable[str] | None = None,
        name: str | None = None,
    ) -> Stream:
        """A stream of the tuples that an endpoint holds. `partition_by`: tuples that differ in these attributes come
        from different places; rules="paper" reads such a source in parallel."""
        site = Site(self, "source", name)
        if not (isinstance(tuple_type, type) and issubclass(tuple_type, Tuple)):
            raise GraphError(
                "a source needs a tuple type",
                where=site.where,
                expected="a subclass of tw.Tuple",
                found=repr(tuple_type),
            )
        check_source(endpoint, tuple_type.tuple_type, site.where)
        if isinstance(endpoint, Kafka):
            return kafka_source(site, endpoint, tuple_type.tuple_type)
        key = names(partition_by)
        for attribute in key:
            if tuple_type.tuple_type.get(attribute) is None:
                raise unknown_attribute(attribute, tuple_type.tuple_type, site.where)
        on_error = endpoint.on_error if isinstance(endpoint, Files) else "fail"
        letters = (BAD_RECORD,) if on_error == "dead_letter" else ()
        return site.stream(
            ops.Source(
                name=site.name,
                outputs=(tuple_type.tuple_type, *letters),
                where=site.where,
                on_error=on_error,
                endpoint=endpoint,
                partition_by=key,
            )
        )

    def imported(
        self, export: str, tuple_type: type[Tuple], *, via: Kafka | None = None, name: str | None = None
    ) -> Stream:
        """The stream that another application exports under this name; it may run before, after or beside this one.

        `via=tw.kafka(…)`: the exporter's topic, instead of a folder."""
        site = Site(self, "imported", name)
        declared = declared_type(tuple_type, site.where)
        if via is not None:
            return kafka_source(site, through(via, export, site.where), declared)
        endpoint = exported(export, declared, site.where)
        return site.stream(ops.Source(name=site.name, outputs=(declared,), where=site.where, endpoint=endpoint))

    def feedback(self, tuple_type: type[Tuple], *, immediate: bool = False, name: str | None = None) -> Stream:
        """The start of a loop: the tuples that `.feed(loop)` sends back, each in the epoch behind its own; or, with
        `immediate`, before the next tuple enters the loop, whose operators then run one tuple at a time."""
        site = Site(self, "feedback", name)
        if immediate:
            self._immediate.add(site.name)
        return site.stream(
            ops.Feedback(name=site.name, outputs=(declared_type(tuple_type, site.where),), where=site.where)
        )

    def graph(self) -> LogicalGraph:
        """The finished graph: every stream must end somewhere."""
        return self._finished(tuple(self._operators))

    def _finished(self, operators: tuple[Operator, ...], *, open_ends: bool = False) -> LogicalGraph:
        self._scope.check(self.module)
        params = tuple((d.name, d.shown) for d in self._scope.of(self.module))
        here = {operator.name for operator in operators}
        hints = {name: hint for name, hint in self._hints.items() if name in here}
        graph = LogicalGraph(self.name, operators, params, hints)
        return finished(graph, frozenset(self._immediate), self.where, open_ends=open_ends)

    start = inside.start

    def _add(self, operator: Operator) -> None:
        self._operators.append(operator)

    def _stream(self, ref: StreamRef, tuple_type: TupleType) -> Stream:
        return Stream(self, ref, tuple_type)


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

    def _site(self, kind: str, name: str | None) -> Site:
        return Site(self.app, kind, name)

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

    parallel = control.parallel
    sequential = control.sequential
    fuse_with = control.fuse_with
    isolate = control.isolate
    unordered = control.unordered
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
    to_dataframe = inside.to_dataframe

    def map(
        self,
        function: RowFunction,
        into: type[Tuple] | None = None,
        *,
        on_error: str = "fail",
        name: str | None = None,
    ) -> Stream:
        """One tuple out for each tuple in. The function returns a dict or a tuple; `into` declares its type."""
        site = Site(self.app, "map", name)
        policy, letters = site.policy(on_error)
        read = read_function(function, self.tuple_type, site.where)
        output = map_type(read, into, site.name, site.where)
        if isinstance(read.expr, Record):
            read = in_declared_order(read, output, site.where)
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
        site = Site(self.app, "filter", name)
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
        site = Site(self.app, "flat_map", name)
        policy, letters = site.policy(on_error)
        read = Function(function, site.where, None, "it may return several tuples")
        output = declared_type(into, site.where)
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
        site = Site(self.app, "map_batches", name)
        policy, letters = site.policy(on_error)
        if library not in ("arrow", "polars"):
            raise GraphError("unknown library", where=site.where, expected="arrow or polars", found=repr(library))
        read = Function(function, site.where, None, "it takes whole batches")
        operator = ops.MapBatches(
            name=site.name,
            inputs=(self.ref,),
            outputs=(declared_type(into, site.where), *letters),
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
        site = Site(self.app, "event_time", name)
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
        site = Site(self.app, "punctor", name)
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
        site = Site(self.app, "delay", name)
        return self._paced(site, delay_s=_positive(seconds, "delay", site))

    def throttle(self, rate: float, *, name: str | None = None) -> Stream:
        """The same tuples, at most so many per second on each channel."""
        site = Site(self.app, "throttle", name)
        return self._paced(site, rate_per_s=_positive(rate, "throttle", site))

    def _paced(self, site: Site, *, delay_s: float = 0.0, rate_per_s: float | None = None) -> Stream:
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
        site = Site(self.app, "split_randomly", name)
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
        site = Site(self.app, "split", name)
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
        site = Site(self.app, "union", name)
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
        site = Site(self.app, "aggregate", name)
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
        site = Site(self.app, "join", name)
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
        site = Site(self.app, "sink", name)
        _check_sink(endpoint, self.tuple_type, site)
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))

    def export(self, export: str, *, via: Kafka | None = None, name: str | None = None) -> None:
        """Give these tuples to other applications under a name: they read them with `app.imported(name, Type)`.

        `via=tw.kafka(…)`: through a topic, instead of a folder."""
        site = Site(self.app, "export", name)
        endpoint: SinkEndpoint
        if via is not None:
            endpoint = through(via, export, site.where)
        else:
            endpoint = exported(export, self.tuple_type, site.where)
        _check_sink(endpoint, self.tuple_type, site)
        self.app._add(ops.Sink(name=site.name, inputs=(self.ref,), where=site.where, endpoint=endpoint))

    def feed(self, loop: Stream, *, name: str | None = None) -> None:
        """The end of a loop: these tuples come back as those of `loop`, which `app.feedback(Type)` made."""
        site = Site(self.app, "feed", name)
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

    def _same_app(self, other: Stream, site: Site) -> None:
        if not isinstance(other, Stream):
            raise GraphError("not a stream", where=site.where, expected="a stream", found=described(other))
        if other.app is not self.app:
            raise GraphError(
                "streams of two applications meet",
                where=site.where,
                expected=f"a stream of {self.app.name}",
                found=f"the stream {other.ref} of {other.app.name}",
            )

    def _check_attributes(self, attributes: tuple[str, ...], site: Site) -> None:
        for attribute in attributes:
            if self.tuple_type.get(attribute) is None:
                raise unknown_attribute(attribute, self.tuple_type, site.where)


def _check_sink(endpoint: SinkEndpoint, tuple_type: TupleType, site: Site) -> None:
    check_sink(endpoint, tuple_type, site.where)
    if isinstance(endpoint, Kafka):
        check_kafka_sink(endpoint, tuple_type, site.where)


def _not_stored(window: Last | Within | None) -> bool:
    return window is None or window == Last(0, window.by if isinstance(window, Last) else ())


def _positive(value: float, word: str, site: Site) -> float:
    if not isinstance(value, int | float) or not value > 0:
        raise GraphError(f"{word}: bad number", where=site.where, expected="more than 0", found=repr(value))
    return float(value)
