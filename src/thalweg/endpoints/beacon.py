"""`tw.beacon`: a generator whose tuples can be recomputed, any range of them in any process."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from thalweg.ir.arguments import Count, CountOrZero, Positive, Rule, checked
from thalweg.ir.endpoints import ReadAgain, any_tuple_type
from thalweg.ir.expr import Expr
from thalweg.ir.frozen_code import freeze_before_operator
from thalweg.ir.operators import Source
from thalweg.ir.user_calls import call_place, user_frame

if TYPE_CHECKING:
    from thalweg.engine.inputs.beacon_reader import BeaconReader, BeaconSplits


@checked
def beacon(
    function: Annotated[Callable[[int], Any], Rule("a function of the tuple's number")],
    *,
    count: CountOrZero | None = None,
    shards: Count = 1,
    rate: Positive | None = None,
) -> Beacon:
    """A source of the tuples `function(0)`, `function(1)`, …: `count` of them, or endless (with --follow).

    The function must always return the same tuple for the same number, because a restart calls it again. With `shards`
    the numbers are distributed over that many splits, which advance in parallel; `rate` is in tuples per second.
    """
    return Beacon(freeze_before_operator(function, call_place(user_frame())), count, shards, rate)


def seeded(seed: int | str, index: int) -> random.Random:
    """A random number generator for the tuple of this number: the same in every process and after every restart."""
    return random.Random(f"{seed}/{index}")


@dataclass(frozen=True, slots=True)
class Beacon(ReadAgain):
    """Row r of shard s is the tuple `function(s + r * shards)`."""

    function: Callable[[int], Any] = field(hash=False, repr=False)  # its address in a repr would differ in each run
    count: int | None  # None: endless
    shards: int = 1
    rate_per_s: float | None = None

    call = "tw.beacon(…)"
    needs_spark = False
    no_sample = ""
    folder = None
    skips_unwanted = False
    row_policy = "fail"
    source_row = (
        "`tw.beacon(function, count=, shards=1, rate=)`",
        "`function(0)`, `function(1)`, …; computed again wherever they are needed",
        "by number; with shards, shard by shard in each epoch",
        "yes, by calling the function",
        "exactly once",
    )

    @property
    def identity(self) -> str:
        return "beacon" if self.shards == 1 else f"beacon of {self.shards} shards"

    @property
    def waits(self) -> bool:
        return self.rate_per_s is not None

    @property
    def endless(self) -> str | None:
        return "tw.beacon(…, count=…)" if self.count is None else None

    @property
    def concurrent_splits(self) -> int:
        return self.shards

    @property
    def numbered(self) -> Callable[[int], Any]:
        return self.function

    check_source = any_tuple_type

    def at_once(self) -> Beacon:
        return replace(self, rate_per_s=None)

    def splits(self, source: Source) -> BeaconSplits:
        from thalweg.engine.inputs.beacon_reader import BeaconSplits

        return BeaconSplits(source, self.count, self.shards, self.rate_per_s)

    def reader(self, source: Source, columns: tuple[str, ...], wanted: Expr | None) -> BeaconReader:
        from thalweg.engine.inputs.beacon_reader import BeaconReader

        return BeaconReader(source.name, source.where, self.function, self.shards, source.outputs[0], columns)
