"""`tw.iterable`: the items of a Python iterable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from thalweg.endpoints.checks import require
from thalweg.errors import GraphError, shown
from thalweg.ir.arguments import CHECKED_INSIDE, checked, takes
from thalweg.ir.endpoints import FedByDriver, FeederTarget, any_tuple_type
from thalweg.ir.frozen_code import Freezer
from thalweg.ir.operators import Source
from thalweg.ir.user_calls import call_place, user_frame


@checked
def iterable(items: Annotated[Iterable[Any] | Callable[[], Iterable[Any]], CHECKED_INSIDE]) -> Items:
    """A source of the items (dicts or tuples) of an iterable, or of the iterable that the function `items` returns."""
    if isinstance(items, Iterator):
        raise GraphError(
            "an iterator can be read only once, but a restart reads it again from its beginning",
            where=call_place(user_frame()),
            expected="a list or another collection, or a function that returns a new iterator",
            found=shown(items),
            hint="pass the generator function itself, without calling it, or lambda: …",
        )
    good = isinstance(items, Iterable) or (callable(items) and takes(items, []))
    require(good, "iterable: not an iterable", "an iterable, or a function that returns one", items)
    require(not isinstance(items, set | frozenset), "iterable: a set has no order", "a list, or sorted(…)", items)
    single = isinstance(items, str | bytes | Mapping)  # its characters or keys are not tuples
    require(not single, "iterable: not a list of tuples", "a list of dicts or tuples", items)
    freezer = Freezer(call_place(user_frame()), copies=False)
    return Items(list(items) if type(items) is list else freezer.freeze(items))


@dataclass(frozen=True, slots=True)
class Items(FedByDriver):
    """A Python iterable, or a function without arguments that returns one. It stays in the driver."""

    items: Any = field(compare=False, repr=False)

    call = "tw.iterable(…)"
    needs_spark = False
    no_sample = ""
    patient = True
    folder = None
    endless = None  # not known: an iterable may end
    row_policy = "fail"
    numbered = None
    check_source = any_tuple_type
    source_row = (
        "`tw.iterable(items)`",
        "the items of an iterable, or of the iterable that a function returns",
        "as yielded",
        "yes, from the spool",
        "exactly once, if the iterable yields the same items again",
    )

    def __reduce__(self) -> tuple[type[Items], tuple[None]]:
        """Workers read the spool: a generator, or a list of a million items, must not be sent to them."""
        return Items, (None,)

    @property
    def identity(self) -> str:
        return "iterable"

    def feed(self, source: Source, out: FeederTarget, *, follow: bool, limit: int | None = None) -> None:
        from thalweg.engine.inputs.feed_items import feed_items

        feed_items(source, self.items, out, limit)
