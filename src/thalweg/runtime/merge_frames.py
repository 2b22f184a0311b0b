"""Merging: tuples of several frames in the order of their order keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from thalweg.runtime.columns import Array
from thalweg.runtime.frame import Frame, join_frames


def merge(frames: Sequence[Frame]) -> Frame | None:
    """One sorted frame from sorted frames; None if there are no tuples."""
    frames = [f for f in frames if len(f)]
    if not frames:
        return None
    width = max(len(f.subs) for f in frames)
    frames = sorted((f.padded(width) for f in frames), key=lambda f: f.order_key(0))
    joined = join_frames(frames)
    if len(frames) == 1 or all(a.order_key(len(a) - 1) < b.order_key(0) for a, b in pairwise(frames)):
        return joined  # contiguous blocks: concatenation is the merge
    return joined.take(sort_order(joined))


def gather(frames: Sequence[Frame], *, ordered: bool) -> Frame | None:
    """One frame of all tuples: merged, or in arrival order if no operator depends on their order."""
    if ordered:
        return merge(frames)
    frames = [f for f in frames if len(f)]
    width = max((len(f.subs) for f in frames), default=0)
    return join_frames([f.padded(width) for f in frames]) if frames else None


def sort_order(frame: Frame) -> Array:
    """The stable permutation that sorts by order key. On sorted runs numpy's stable sort is a merge."""
    subs = [s for s in frame.subs if not isinstance(s, int)]
    if not subs:
        return np.argsort(frame.position, kind="stable")
    return np.lexsort((*reversed(subs), frame.position))


def slices(frames: Sequence[Frame], rows: int) -> list[list[Frame]]:
    """Cut sorted frames of several streams at common positions, so that no slice has many more than `rows` tuples.

    The tuples of one position stay together: operators with several inputs need all of them together.
    """
    total = sum(len(f) for f in frames)
    if total <= rows:
        return [list(frames)]
    positions = np.sort(np.concatenate([f.position for f in frames]), kind="stable")
    bounds = np.unique(positions[rows::rows])
    edges = [[0, *np.searchsorted(f.position, bounds).tolist(), len(f)] for f in frames]
    return [[f.window(e[i], e[i + 1]) for f, e in zip(frames, edges, strict=True)] for i in range(len(bounds) + 1)]
