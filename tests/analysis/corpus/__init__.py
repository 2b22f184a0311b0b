"""Small functions and classes as users write them, with the facts that the analysis must find.

`state` is "stateless", "unknown", "one" (one state for all tuples) or the key. Effects are all of them. A wrong
"unknown" is a weakness, a wrong "stateless" would be a bug.
"""

from __future__ import annotations

from tests.analysis.corpus import (  # noqa: F401  each adds its cases
    aliases,
    caches,
    called_by_others,
    deferred_code,
    effects,
    hidden_state,
    implicit_calls,
    lost_track,
    monkeypatched,
    optional_fields,
    own_dunders,
    plain,
    selectivity,
    unknowable,
    whole_tuple,
    with_state,
)
from tests.analysis.corpus.base import CASES

__all__ = ["CASES"]
