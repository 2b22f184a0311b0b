"""The aggregates, one function for each fold of `thalweg.library.folds`.

They can be combined by + - * / and with numbers: `agg.sum("a") / agg.count()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from thalweg.errors import did_you_mean
from thalweg.library.fold_terms import AggregateExpr as AggregateExpr
from thalweg.library.folds import CONSTRUCTORS

globals().update(CONSTRUCTORS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., AggregateExpr]: ...

else:

    def __getattr__(name: str) -> object:
        hint = did_you_mean(name, CONSTRUCTORS)
        raise AttributeError(f"thalweg.agg has no aggregate {name!r}" + (f": {hint}" if hint else ""))
