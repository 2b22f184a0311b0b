"""Build the operator that computes aggregates over a window."""

from __future__ import annotations

from typing import Any

from thalweg.errors import GraphError, Where, described, shown
from thalweg.ir.expr import Attr, Const, Expr, Record
from thalweg.ir.expr import apply as apply_operation
from thalweg.ir.folds import Fold, fold_name
from thalweg.ir.frozen_code import Freezer
from thalweg.ir.logic import Logic
from thalweg.ir.operators import Function
from thalweg.ir.types import BOOL, INT64_MAX, INT64_MIN, PYTHON_TYPES, AttributeType, TupleType
from thalweg.ir.windows import Window
from thalweg.lang.annotations import attribute_type
from thalweg.lang.read_function import attribute_function, read_function
from thalweg.lang.type_classes import missing_hint, words
from thalweg.library.fold_spec import FoldCall
from thalweg.library.fold_terms import AggregateExpr, Argument, Combined, FoldTerm, Number
from thalweg.library.folds import FOLDS
from thalweg.library.window_aggregate import ApplyConfig, make_config
from thalweg.library.windows import WINDOWS


def check_window(window: object, word: str, where: Where) -> None:
    if not isinstance(window, WINDOWS):
        raise GraphError(
            f"not a window for {word}",
            where=where,
            expected="window.running(…), window.tumbling(…) or window.sliding(…)",
            found=described(window),
        )


def has_kernel(window: Window, folds: tuple[Fold, ...]) -> bool:
    """Whether an aggregate runs vectorized; all others run tuple by tuple."""
    return window.has_kernel and all(FOLDS[fold.kind].kernel is not None for fold in folds)


def aggregate_logic(window: Window, folds: tuple[Fold, ...], fields: Record) -> Logic:
    logic = window.aggregate()
    logic.config = make_config(window, folds, fields)
    return logic


def apply_logic(window: Window, function: Any) -> Logic:
    logic = window.apply()
    logic.config = ApplyConfig(window, function)
    return logic


def _same(known: Fold, fold: Fold) -> bool:
    """Whether two folds always have the same value. Functions with the same code may have captured different values,
    so they must be the same object."""
    return known.fingerprint() == fold.fingerprint() and known.function is fold.function and known.type == fold.type


class FoldTable:
    """The distinct folds of one aggregate operator, filled while its output fields are resolved."""

    def __init__(
        self,
        input_type: TupleType,
        where: Where,
        time_type: AttributeType | None = None,
        freezer: Freezer | None = None,
    ) -> None:
        self.input_type, self.where, self.time_type = input_type, where, time_type
        self.freezer = freezer or Freezer(where)
        self.folds: list[Fold] = []

    def resolve(self, aggregate: AggregateExpr) -> Expr:
        match aggregate:
            case FoldTerm():
                return self._fold(aggregate)
            case Number(value):
                return self._number(value)
            case Combined(op, left, right):
                a, b = self.resolve(left), self.resolve(right)
                found = apply_operation(op, a, b)
                if found is None:
                    raise GraphError(
                        f"aggregates cannot be combined by {op}",
                        where=self.where,
                        expected="numbers (int or float)",
                        found=f"{a.type} {op} {b.type}",
                        hint="make them separate fields and combine them in a .map() after the aggregate",
                    )
                return found
        raise GraphError(
            "not an aggregate",
            where=self.where,
            expected="agg.count(), agg.sum(…) or another aggregate of agg, or a combination of them",
            found=described(aggregate),
            hint=f"for a key, use agg.any({aggregate!r})" if isinstance(aggregate, str) else None,
        )

    def _number(self, value: object) -> Const:
        if type(value) is float or (type(value) is int and INT64_MIN <= value <= INT64_MAX):
            return Const(value, PYTHON_TYPES[type(value)])
        raise GraphError(
            "aggregates can only be combined with numbers",
            where=self.where,
            expected="an aggregate, a float or a 64-bit int",
            found=shown(value),
        )

    def _fold(self, of: FoldTerm) -> Attr:
        function, picked = self._function(of.argument), self._function(of.picked)
        kind, forwards = self._type(of, function, picked), FOLDS[of.kind].forwards
        own = None if of.function is None else self.freezer.freeze(of.function)
        fold = Fold(of.kind, function, kind, picked, of.parameter, own, forwards)
        index = next((i for i, known in enumerate(self.folds) if _same(known, fold)), len(self.folds))
        if index == len(self.folds):
            self.folds.append(fold)
        return Attr(fold_name(index), fold.type)

    def _function(self, argument: Argument | None) -> Function | None:
        if argument is None:
            return None
        if isinstance(argument, str):
            return attribute_function(argument, self.input_type, self.where)
        return read_function(argument, self.input_type, self.where, self.freezer)

    def _type(self, of: FoldTerm, function: Function | None, picked: Function | None) -> AttributeType:
        argument = None if function is None else self._readable(of.word or of.kind, function)
        if argument is not None:
            self._check_type(of, argument)
        call = FoldCall(
            argument,
            None if picked is None else self._readable(of.kind, picked),
            None if of.type is None else attribute_type(of.type, f"the result of agg.{of.kind}", self.where),
            self.time_type,
            of.parameter,
        )
        try:
            return FOLDS[of.kind].result(call)
        except GraphError as error:
            error.where = self.where
            raise

    def _readable(self, kind: str, function: Function) -> AttributeType:
        if function.expr is None or not isinstance(function.expr, Expr):
            raise GraphError(
                f"agg.{kind}: the argument cannot be read: {function.opaque_because or 'it builds a tuple'}",
                where=self.where,
                expected="an attribute's name or an expression over attributes",
                hint="compute the value in a .map() first, with a declared tuple type",
            )
        return function.expr.type

    def _check_type(self, of: FoldTerm, value: AttributeType) -> None:
        """Reject values that the fold does not accept."""
        takes, kind = FOLDS[of.kind].takes, of.word or of.kind
        if takes is None or value in takes:
            return
        hint = "`1 if t.flag else 0` counts a flag" if value is BOOL else missing_hint(value)
        raise GraphError(f"agg.{kind} does not accept {value}", where=self.where, expected=words(takes), hint=hint)
