"""Operators that process tuples one by one: `map`, `filter`, `flat_map`, `map_batches`, `split`, `split_randomly`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from thalweg.errors import GraphError, described
from thalweg.extras import extra
from thalweg.ir import operators as ops
from thalweg.ir.arguments import CHECKED_INSIDE, Count, RowFunction, Rule, checked, choice, fits
from thalweg.ir.expr import Record
from thalweg.ir.operators import Function, Policy, StreamRef
from thalweg.ir.types import INT
from thalweg.lang.dropped_attributes import naming_the_dropper
from thalweg.lang.operator_call import OperatorSite
from thalweg.lang.outputs import in_declared_order, map_type, only_class, returned_tuple
from thalweg.lang.read_function import read_function
from thalweg.lang.tuples import Tuple

if TYPE_CHECKING:
    from thalweg.lang.app import Stream

BatchFunction = Annotated[Callable[[Any], Any], Rule("a function of a table")]


@checked
def map(
    self: Stream,
    function: RowFunction,
    into: type[Tuple] | None = None,
    *,
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """One tuple out for each tuple in. The function returns a dict or a tuple; `into` declares its type."""
    site = OperatorSite(self.app, "map", name)
    policy, letters = site.policy(on_error)
    made: set[type[Tuple]] = set()
    with naming_the_dropper(self):
        read = read_function(function, self.tuple_type, site.where, site.freezer, made=made)
    output = map_type(read, into or only_class(made, read), site)
    if isinstance(read.expr, Record):
        read = in_declared_order(read, output, site.where)
    elif read.expr is not None:
        read = returned_tuple(read, output, site.where)
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


@checked
def filter(self: Stream, predicate: RowFunction, *, on_error: Policy = "fail", name: str | None = None) -> Stream:
    """The tuples for which the predicate is true."""
    site = OperatorSite(self.app, "filter", name)
    policy, letters = site.policy(on_error)
    with naming_the_dropper(self):
        read = read_function(predicate, self.tuple_type, site.where, site.freezer, as_truth=True)
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


@checked
def flat_map(
    self: Stream, function: RowFunction, into: type[Tuple], *, on_error: Policy = "fail", name: str | None = None
) -> Stream:
    """Any number of tuples out for each tuple in: the function returns or yields dicts or tuples."""
    site = OperatorSite(self.app, "flat_map", name)
    policy, letters = site.policy(on_error)
    read = Function(site.freezer.freeze(function), site.where, None, "it may return several tuples")
    output = site.declared(into)
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


@checked
def map_batches(
    self: Stream,
    function: BatchFunction,
    into: type[Tuple],
    *,
    library: Annotated[str, choice("arrow", "polars")] = "arrow",
    on_error: Policy = "fail",
    name: str | None = None,
) -> Stream:
    """Apply a function to Arrow tables (or Polars frames). It returns a row for each row in, which may only depend on
    that row, because the plan determines how tuples are cut into batches."""
    site = OperatorSite(self.app, "map_batches", name)
    policy, letters = site.policy(on_error)
    if library == "polars":
        with extra("polars", 'map_batches(…, library="polars")', site.where):
            import polars  # noqa: F401
    read = Function(site.freezer.freeze(function), site.where, None, "it takes entire batches")
    operator = ops.MapBatches(
        name=site.name,
        inputs=(self.ref,),
        outputs=(site.declared(into), *letters),
        where=site.where,
        on_error=policy,
        function=read,
        library=library,
    )
    return site.stream(operator, self)


@checked
def split(
    self: Stream, function: RowFunction, ports: Count, *, on_error: Policy = "fail", name: str | None = None
) -> tuple[Stream, ...]:
    """Each tuple goes to the one of `ports` output streams whose number the function returns."""
    site = OperatorSite(self.app, "split", name)
    policy, letters = site.policy(on_error)
    with naming_the_dropper(self):
        read = read_function(function, self.tuple_type, site.where, site.freezer)
    if read.expr is not None and (isinstance(read.expr, Record) or read.expr.type is not INT):
        raise GraphError(
            "split: the function must return a port",
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


@checked
def split_randomly(
    self: Stream, shares: Annotated[Iterable[float], CHECKED_INSIDE], *, seed: int, name: str | None = None
) -> tuple[Stream, ...]:
    """Each tuple goes to a random output stream, in these shares. The same seed gives the same streams."""
    site = OperatorSite(self.app, "split_randomly", name)
    no_list = set, frozenset, Mapping, bytes
    given = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, no_list) else []
    if not all(fits(share, float) and share >= 0 for share in given) or not 0 < sum(given) < math.inf:
        raise GraphError(
            "split_randomly: bad shares",
            where=site.where,
            expected="finite numbers, 0 or more, not all of them 0",
            found=described(shares),
        )
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
