"""The folds: a module for each, or for a small family. A module lists them under `FOLDS`."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.errors import InternalError
from thalweg.ir.arguments import checked
from thalweg.library.fold_spec import Composed, FoldSpec
from thalweg.library.fold_terms import AggregateExpr
from thalweg.library.package_modules import members

_ALL: list[FoldSpec | Composed] = members(__name__, __path__, "FOLDS")

CONSTRUCTORS: dict[str, Callable[..., AggregateExpr]] = {}  # the functions of `thalweg.agg`
FOLDS: dict[str, FoldSpec] = {}

for _fold in _ALL:
    if _fold.name in CONSTRUCTORS:
        raise InternalError(f"the fold {_fold.name} is defined twice")
    CONSTRUCTORS[_fold.name] = checked(_fold.constructor, f"agg.{_fold.name}")
    if isinstance(_fold, FoldSpec):
        FOLDS[_fold.name] = _fold
