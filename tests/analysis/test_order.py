"""Which sub-position columns streams carry: as few as possible, but never one too few."""

from __future__ import annotations

import thalweg as tw
from tests.graphs import Tick, bargains, diamond, stateless
from thalweg.analysis.order_keys import OrderLayout, order_layout
from thalweg.ir.operators import StreamRef


def widths(layout: OrderLayout) -> dict[str, int]:
    return {str(stream): width for stream, width in layout.width.items()}


def test_a_line_needs_positions_only() -> None:
    layout = order_layout(stateless())
    assert set(layout.width.values()) == {0}
    assert layout.branch == {}


def test_a_fan_out_that_meets_again_is_numbered() -> None:
    """trades and quotes meet in the join: a tick that passed both filters reaches the join twice."""
    layout = order_layout(bargains())
    assert layout.branch == {("trades", 0): 0, ("quotes", 0): 1}
    assert layout.width[StreamRef("bargains")] == 1


def test_a_split_is_not_a_fan_out() -> None:
    """A tuple takes one port, so nothing must be numbered; the sink and the filter never meet."""
    layout = order_layout(diamond())
    assert layout.branch == {}
    assert set(layout.width.values()) == {0}


def test_a_union_of_a_stream_with_itself() -> None:
    app = tw.App("twice")
    ticks = app.source(tw.files("ticks"), Tick)
    both = ticks.union(ticks)
    both.sink(tw.collect())
    layout = order_layout(app.graph())
    assert layout.branch == {("both", 0): 0, ("both", 1): 1}
    assert widths(layout) == {"ticks": 0, "both": 1}


def test_a_flat_map_counts_its_emissions() -> None:
    app = tw.App("flat")
    ticks = app.source(tw.files("ticks"), Tick)
    copies = ticks.flat_map(lambda t: [t, t], Tick)
    again = copies.flat_map(lambda t: [t], Tick)
    joined = again.union(copies)
    joined.sink(tw.collect())
    layout = order_layout(app.graph())
    assert layout.branch == {("again", 0): 0, ("joined", 1): 1}
    assert widths(layout) == {"ticks": 0, "copies": 1, "again": 3, "joined": 3}


def test_branches_that_never_meet_are_numbered_if_failures_could_be_confused() -> None:
    """A tuple that fails after the flat_map has a longer order key than one that fails in the other branch."""
    app = tw.App("apart")
    ticks = app.source(tw.files("ticks"), Tick)
    copies = ticks.flat_map(lambda t: [t, t], Tick)
    ratios = ticks.filter(lambda t: t.price / t.volume > 1.0)
    copies.sink(tw.collect())
    ratios.sink(tw.collect())
    assert order_layout(app.graph()).branch == {("copies", 0): 0, ("ratios", 0): 1}


def test_a_sink_next_to_a_flat_map_needs_no_number() -> None:
    """A sink cannot fail."""
    app = tw.App("branches")
    ticks = app.source(tw.files("ticks"), Tick)
    ticks.sink(tw.collect())
    copies = ticks.flat_map(lambda t: [t, t], Tick)
    copies.sink(tw.collect())
    assert order_layout(app.graph()).branch == {}
