"""The merger of all wires of an exchange: whatever order channels are heard in."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.runtime.frame import Frame
from thalweg.runtime.ordering.mergers import Pulse
from thalweg.runtime.ordering.wires import Slice, WiresMerger

Sent = tuple[dict[int, Frame], Pulse]
WIRES = 3


def frame(positions: list[int]) -> Frame:
    return Frame(np.array(positions, np.int64), (), {})


def sent_by(channel: int, channels: int, count: int, share: int, chance: random.Random) -> Iterator[Sent]:
    """What one channel sends, in stretches of its own choice: of `count` positions those that are its own."""
    at = 0
    while at < count:
        stop = min(count, at + chance.choice((1, 2, 5, 13)))
        mine = [p for p in range(at, stop) if share and hash((p, share)) % (channels * share) == channel]
        wires = {wire: frame([p for p in mine if p % WIRES in (wire, 0)]) for wire in range(WIRES)}
        yield {wire: f for wire, f in wires.items() if len(f) or chance.random() < 0.5}, Pulse(stop - 1)
        at = stop


def heard(streams: list[list[Sent]], chance: random.Random) -> Iterator[tuple[int, Sent]]:
    left = [list(items) for items in streams]
    while any(left):
        channel = chance.choice([c for c, items in enumerate(left) if items])
        for _ in range(chance.choice((1, 1, 2, 8))):
            if left[channel]:
                yield channel, left[channel].pop(0)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 6), st.integers(0, 60), st.sampled_from((0, 1, 2, 7)), st.integers(0, 10_000), st.booleans())
def test_any_order_of_arrival(channels: int, count: int, share: int, seed: int, eager: bool) -> None:
    """Everything comes once, in order, cut at the same positions on all wires, and as soon as all have sent a pulse."""
    chance = random.Random(seed)
    streams = [list(sent_by(c, channels, count, share, chance)) for c in range(channels)]
    merger, slices, newest = WiresMerger(channels, -1), list[Slice](), [-1] * channels
    for channel, (frames, pulse) in heard(streams, chance):
        merger.arrive(channel, frames, pulse)
        newest[channel] = pulse.position
        assert merger.ready == (min(newest) > merger.last)
        if merger.ready and (eager or chance.random() < 0.5):
            slices.append(merger.take())
            assert slices[-1].pulse.position == min(newest), "an idle channel delays the others only until its pulse"
    if merger.ready:
        slices.append(merger.take())
    assert merger.held == 0
    pulses = [s.pulse.position for s in slices]
    assert pulses == sorted(set(pulses)), "each pulse is passed on once"
    expected = {p for p in range(count) if share and hash((p, share)) % (channels * share) < channels}
    for wire in range(WIRES):
        found = [p for s in slices if wire in s.frames for p in s.frames[wire].position.tolist()]
        assert found == sorted(p for p in expected if p % WIRES in (wire, 0))
    for before, one in zip([-1, *pulses], slices, strict=False):
        assert all(before < p <= one.pulse.position for f in one.frames.values() for p in f.position.tolist())


def test_tuples_of_one_position_from_several_channels_stay_together() -> None:
    merger = WiresMerger(2, -1)
    merger.arrive(0, {0: frame([3, 3, 4])}, Pulse(5))
    assert not merger.ready
    merger.arrive(1, {1: frame([3])}, Pulse(3))
    taken = merger.take()
    assert {wire: f.position.tolist() for wire, f in taken.frames.items()} == {0: [3, 3], 1: [3]}
    assert (taken.pulse, merger.held, merger.most_held) == (Pulse(3), 1, 4)


@pytest.mark.parametrize("channels", [1, 3])
def test_positions_may_be_below_zero(channels: int) -> None:
    """Feedback tuples come before the epoch's own tuples; in the first epochs their positions are negative."""
    merger = WiresMerger(channels, -8)
    merger.arrive(0, {0: frame([-7, -1, 0])}, Pulse(0))
    assert merger.ready == (channels == 1)
    for channel in range(1, channels):
        merger.arrive(channel, {}, Pulse(-2))
    assert merger.take().frames[0].position.tolist() == ([-7, -1, 0] if channels == 1 else [-7])
