"""Seeded random numbers: a hash of the seed and of the tuple's order key, the same under every plan and every cut."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.runtime.frame import Frame
from thalweg.runtime.keys import mix


def chances(seed: int, frame: Frame) -> npt.NDArray[np.float64]:
    """A number in [0, 1) for each tuple."""
    with np.errstate(over="ignore"):
        drawn = mix(frame.position.view(np.uint64) ^ mix(np.full(1, seed & 0xFFFF_FFFF_FFFF_FFFF, np.uint64)))
        for sub in frame.subs:
            drawn = mix(drawn ^ np.broadcast_to(np.asarray(sub, np.int64), len(frame)).astype(np.uint64))
    return (drawn >> np.uint64(11)).astype(np.float64) / float(1 << 53)
