"""The aggregates, one function for each fold of `thalweg.library.folds`.

They can be combined by + - * / and with numbers: `agg.sum("a") / agg.count()`.
Type checkers and editors read `agg.pyi`, which lists the same functions.
"""

from __future__ import annotations

from thalweg.errors import did_you_mean
from thalweg.library.fold_terms import AggregateExpr as AggregateExpr
from thalweg.library.folds import CONSTRUCTORS

globals().update(CONSTRUCTORS)


def __getattr__(name: str) -> object:
    hint = did_you_mean(name, CONSTRUCTORS)
    raise AttributeError(f"thalweg.agg has no aggregate {name!r}" + (f": {hint}" if hint else ""))
