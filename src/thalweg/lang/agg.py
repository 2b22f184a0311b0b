"""The aggregates, one function for each fold of `thalweg.library.folds`.

They can be combined by + - * / and with numbers: `agg.sum("a") / agg.count()`.
Type checkers and editors read `agg.pyi`, which lists the same functions.
"""

from __future__ import annotations

from thalweg.errors import did_you_mean
from thalweg.library.fold_terms import AggregateExpr as AggregateExpr
from thalweg.library.folds import CONSTRUCTORS

globals().update(CONSTRUCTORS)

# What SQL and other libraries call them.
_ELSEWHERE = {
    "average": "mean",
    "avg": "mean",
    "count_distinct": "distinct",
    "len": "count",
    "list": "collect",
    "nunique": "distinct",
    "percentile": "quantile",
    "size": "count",
    "stddev": "std",
    "stdev": "std",
    "total": "sum",
    "var": "variance",
}


def __getattr__(name: str) -> object:
    hint = f"did you mean `{_ELSEWHERE[name]}`?" if name in _ELSEWHERE else did_you_mean(name, CONSTRUCTORS)
    raise AttributeError(f"thalweg.agg has no aggregate {name!r}" + (f": {hint}" if hint else ""))
