"""The feeder of an iterable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from thalweg.errors import InputError, TupleError, shown, summary
from thalweg.ir.endpoints import FeederTarget
from thalweg.ir.operators import Source
from thalweg.ir.user_tracebacks import raised_in
from thalweg.ir.user_tuples import unpack


def feed_items(source: Source, items: Any, out: FeederTarget, limit: int | None = None) -> None:
    """Feed the items after those that an earlier run spooled. An endless iterable should have a limit."""
    before, count = out.tuples, 0
    for count, item in enumerate(islice(_items(source, items), limit), 1):
        if count <= before:
            continue
        try:
            values = unpack(item, source.outputs[0])
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an item may be any object, and accessing it may raise anything
            raise _failure(source, error, f"item {count - 1}: {shown(item)}") from error
        out.add(values)
    if count < before:
        raise InputError(
            "the iterable is shorter than it was",
            operator=source.name,
            where=source.where,
            expected=f"at least the {before} items that were read before",
            found=f"{count} items",
            hint="after a restart it must yield the same items again: they are counted to find the next new one",
        )


def _items(source: Source, items: Any) -> Iterator[Any]:
    """The items; an exception of user code is reported with the number of the item."""
    number = 0
    try:
        for item in items if isinstance(items, Iterable) else items():
            yield item
            number += 1
    except (KeyboardInterrupt, GeneratorExit):  # the latter when no more items are needed
        raise
    except BaseException as error:
        raise _failure(source, error, f"item {number}") from error


def _failure(source: Source, error: BaseException, found: str) -> TupleError:
    return TupleError(summary(error), operator=source.name, where=source.where, at=raised_in(error), found=found)
