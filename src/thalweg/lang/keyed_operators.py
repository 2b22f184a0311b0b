"""`aggregate` and `join`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from thalweg.errors import GraphError, described, did_you_mean, shown
from thalweg.ir import operators as ops
from thalweg.ir.arguments import CHECKED_INSIDE, Rule, checked
from thalweg.ir.expr import Attr, Record
from thalweg.ir.folds import Fold, fold_name
from thalweg.ir.operators import Policy
from thalweg.ir.types import TupleType
from thalweg.ir.windows import Window
from thalweg.lang import derived_operators as library
from thalweg.lang.aggregates import FoldTable, aggregate_logic, check_window, has_kernel
from thalweg.lang.dropped_attributes import naming_the_dropper
from thalweg.lang.operator_call import OperatorSite
from thalweg.lang.tuples import check_names
from thalweg.lang.window import Distance, names
from thalweg.library.fold_terms import AggregateExpr
from thalweg.library.windows.by_event_time import TimeWindow
from thalweg.library.windows.of_joins import Last, Within

if TYPE_CHECKING:
    from thalweg.lang.app import Stream


@checked
def aggregate(
    self: Stream,
    /,
    window: Window,
    fields: Mapping[str, AggregateExpr] | None = None,
    *,
    on_error: Policy = "fail",
    name: str | None = None,
    **more: AggregateExpr,
) -> Stream:
    """Aggregates over a window: a result per tuple of a running window, per slide of a sliding window, and when a
    tumbling window closes. The fields of the results are given by name; as a dict, they can have any name."""
    site = OperatorSite(self.app, "aggregate", name)
    check_window(window, "an aggregate", site.where)
    taken = _fields(fields or {}, more, site)
    self._check_attributes(window.by, site)
    check_names(taken, site.name, site.where)
    over = site.window(self, window)
    time_type = self.tuple_type.get(over.on) if isinstance(over, TimeWindow) else None
    table = FoldTable(self.tuple_type, site.where, time_type, site.freezer)
    with naming_the_dropper(self):
        record = Record(tuple((field, table.resolve(aggregate)) for field, aggregate in taken.items()))
    output = site.freezer.tuple_type(TupleType(site.name, tuple((field, expr.type) for field, expr in record.fields)))
    folds = tuple(table.folds)
    if not has_kernel(over, folds):
        logic, end = aggregate_logic(over, folds, record), _end_field(record, folds)
        return site.windowed(self, "aggregate", over, logic, output, on_error, end)
    policy, letters = site.policy(on_error)
    return site.stream(
        ops.Aggregate(
            name=site.name,
            inputs=(self.ref,),
            outputs=(output, *letters),
            where=site.where,
            on_error=policy,
            window=over,
            folds=folds,
            fields=record,
        ),
        self,
    )


def _end_field(fields: Record, folds: tuple[Fold, ...]) -> str:
    """The first field that is the end of the window; empty if there is none."""
    ends = {fold_name(index) for index, fold in enumerate(folds) if fold.kind == "window_end"}
    return next((name for name, expr in fields.fields if isinstance(expr, Attr) and expr.name in ends), "")


def _fields(
    fields: Mapping[str, AggregateExpr], more: Mapping[str, AggregateExpr], site: OperatorSite
) -> dict[str, AggregateExpr]:
    for field in more:
        if field in fields:
            raise GraphError(f"the field {field} is given twice", where=site.where, expected="each field once")
        option = did_you_mean(field, ("window", "on_error", "name"))
        if field == "by":
            option = f"by= is an argument of the window: window.running(by={shown(more[field])})"
        if option and not isinstance(more[field], AggregateExpr):
            raise GraphError(
                "not an aggregate",
                where=site.where,
                expected="agg.…",
                found=f"{field}={shown(more[field])}",
                hint=option,
            )
    if not fields and not more:
        raise GraphError("an aggregate without fields", where=site.where, hint="total=agg.sum('volume')")
    return {**fields, **more}


@checked
def join(
    self: Stream,
    other: Stream,
    window: Last | Within,
    *,
    mine: Last | Within | None = None,
    on: Annotated[str | Iterable[str] | Mapping[str, str], CHECKED_INSIDE] = (),
    where: Annotated[Callable[[Any, Any], Any] | None, Rule("a function of two tuples")] = None,
    band: Annotated[tuple[str, Distance] | tuple[str, str, Distance] | None, CHECKED_INSIDE] = None,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """Join each tuple of this stream with the matching tuples in the `window` of the other. Tuples match if they have
    the same key (`on`; a dict maps this side's names to the other's), are within a `band` (attribute, distance), and
    `where` is true. With `mine` this side is stored too, and each tuple of the other is joined with its matches.
    """
    site = OperatorSite(self.app, "join", name)
    self._same_app(other, site)
    if not isinstance(window, Last | Within) or not (mine is None or isinstance(mine, Last | Within)):
        raise GraphError(
            "not a window for a join",
            where=site.where,
            expected="window.last(count, by=…) or window.within(time)",
            found=described(window if not isinstance(window, Last | Within) else mine),
        )
    key = names([*on]) if isinstance(on, Mapping) else names(on)
    theirs = tuple(name for one in on.values() for name in names([one])) if isinstance(on, Mapping) else key
    if not key and where is None and band is None:
        raise GraphError("a join needs a key", where=site.where, expected='on="attribute", band=… or where=…')
    self._check_attributes(key, site)
    other._check_attributes(theirs, site)
    for side, wanted in ((window, theirs), (mine, key)):
        if isinstance(side, Last) and side.by not in ((), wanted):
            raise GraphError(
                "the window of the join has a different key",
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


def _not_stored(window: Last | Within | None) -> bool:
    return window is None or window == Last(0, window.by if isinstance(window, Last) else ())
