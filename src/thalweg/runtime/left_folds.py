"""Folds over segments, from left to right, bit for bit as a loop would compute them.

Library sums cannot be used here: pairwise, compensated and rolling sums give different bits for different frame sizes.
`ufunc.accumulate` adds one value after the other, so it is exact; the difficulty is to call it on few, large arrays.
"""

from __future__ import annotations

import numpy as np

from thalweg.runtime.columns import Array

_LONG = 512  # from this length on, one call per segment costs less than gathering it into a matrix


def accumulate(ufunc: np.ufunc, values: Array, starts: Array) -> Array:
    """For each segment (given by its first index) the fold of its values up to each position."""
    out = values.copy()
    lengths = np.diff(starts, append=len(values))
    for segment in np.flatnonzero(lengths >= _LONG).tolist():
        part = out[starts[segment] : starts[segment] + lengths[segment]]
        ufunc.accumulate(part, out=part)
    # Shorter segments by length class: each class is one matrix with a segment per column.
    classes = np.where((lengths > 1) & (lengths < _LONG), np.ceil(np.log2(np.maximum(lengths, 1))), 0).astype(np.int64)
    for size in np.unique(classes[classes > 0]).tolist():
        _accumulate_matrix(ufunc, out, starts[classes == size], lengths[classes == size])
    return out


def _accumulate_matrix(ufunc: np.ufunc, out: Array, starts: Array, lengths: Array) -> None:
    rows = np.arange(int(lengths.max()))[:, None]
    indices = starts + rows
    inside = rows < lengths
    # Past its end a column folds values of other segments; these results are never written back.
    matrix = ufunc.accumulate(out[np.minimum(indices, len(out) - 1)], axis=0)
    out[indices[inside]] = matrix[inside]


def accumulate_backward(ufunc: np.ufunc, values: Array, starts: Array) -> Array:
    """For each segment the fold of its values from each position to the end, taken from the end."""
    ends = np.append(starts[1:], len(values))
    return accumulate(ufunc, values[::-1], (len(values) - ends)[::-1])[::-1]


def group_order(codes: Array, groups: int) -> tuple[Array, Array, Array]:
    """Rows sorted by group and, within it, by their order; with each group's first index and length."""
    order = _stable_argsort(codes, groups)
    lengths = np.bincount(codes, minlength=groups)
    return order, np.cumsum(lengths) - lengths, lengths


def _stable_argsort(codes: Array, groups: int) -> Array:
    """numpy's stable sort is a radix sort for 16-bit integers only: one or two such passes beat a merge sort."""
    if groups <= 1 << 16:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    if groups > 1 << 32:
        return np.argsort(codes, kind="stable")
    low = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    return low[np.argsort((codes >> 16).astype(np.uint16)[low], kind="stable")]


def ranges(starts: Array, lengths: Array) -> Array:
    """`starts[0], starts[0]+1, … ` for each (start, length), concatenated."""
    total = int(lengths.sum())
    first = np.cumsum(lengths) - lengths
    numbers: Array = np.arange(total) + np.repeat(starts - first, lengths)
    return numbers
