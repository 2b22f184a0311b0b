"""Senders: how the frames of a stream that leaves its PE are distributed over channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thalweg.ir.plan import Route
from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame
from thalweg.runtime.keys import buckets_of, channels_of, keys_of
from thalweg.runtime.ordering.splitters import Router, by_block

IN_TURN = 1_024  # consecutive positions that stay together where tuples are distributed in turn

# The channels that get a complete frame (None: the PE's channel), or the function that spreads a frame over channels.
Sender = tuple[int | None, ...] | Callable[[Frame], Iterable[tuple[int, Frame]]]


def sender(route: Route, buckets: int) -> Sender:
    """The sender of a route, created once per wire and PE."""
    if route.key is None:
        return tuple(range(route.degree)) if route.degree else (None,)
    if route.degree == 1:
        return (0,)
    chosen = _by_key(route, buckets) if route.key else by_block(route.degree, IN_TURN)
    return Router(route.degree, chosen, period=None).spread  # pulses come from the readers, at each block


def _by_key(route: Route, buckets: int) -> Callable[[Frame], Array]:
    def channels(frame: Frame) -> Array:
        keys = keys_of([frame.columns[n] for n in route.key or ()], len(frame))
        return channels_of(buckets_of(keys.distinct, buckets), route)[keys.codes]

    return channels
