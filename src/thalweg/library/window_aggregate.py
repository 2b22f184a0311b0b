"""The common logic of window operators, tuple by tuple; `library.windows` has the logic of each kind of window.

Aggregates that can run vectorized use `runtime.aggregate` instead.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from thalweg.errors import InternalError
from thalweg.ir.expr import Record, evaluate
from thalweg.ir.folds import Fold, fold_name
from thalweg.ir.library_logic import LibraryLogic
from thalweg.ir.operator_model import AT_MOST_ONE, MANY, NONE, Copies, Model, fold_reads, key_folds, same
from thalweg.ir.operators import Process, code_fingerprint
from thalweg.ir.times import from_time
from thalweg.ir.types import TupleType, conform
from thalweg.ir.user_code import TUPLES, ListOf, UserCode, UserFunction, fold_code
from thalweg.library.arrival import in_order, pane_by_pane
from thalweg.library.fold_spec import Element, FoldSpec, Monoid, WholeWindow, WindowBound
from thalweg.library.folds import FOLDS
from thalweg.library.two_stacks import combine_all, fold_all

Taken = tuple[tuple[Element, ...], tuple[Any, ...]]  # of a tuple: an element per monoid, a value per other fold


@dataclass(frozen=True, slots=True)
class Config:
    """The parameters of an aggregate; not part of its state."""

    window: Any  # of the kind that the logic is for
    folds: tuple[Fold, ...]
    fields: Record
    scalars: tuple[Monoid | WholeWindow, ...]  # of the folds
    combined: tuple[Monoid, ...]  # of the folds that are monoids

    gives_many: ClassVar[bool] = False  # whether one window may have several results

    @property
    def late(self) -> bool:
        """Whether there is an output port for late tuples."""
        return bool(self.window.timed)


def make_config(window: Any, folds: tuple[Fold, ...], fields: Record) -> Config:
    scalars = tuple(_scalar(FOLDS[fold.kind], window) for fold in folds)
    return Config(window, folds, fields, scalars, tuple(s for s in scalars if isinstance(s, Monoid)))


def _scalar(spec: FoldSpec, window: Any) -> Monoid | WholeWindow:
    if not window.shares_panes:
        return spec.scalar
    return spec.by_arrival or (pane_by_pane(spec.scalar) if isinstance(spec.scalar, Monoid) else spec.scalar)


class Pane:
    """The tuples of one section of the stream: an element per monoid, a list of values per other fold.

    In windows that share panes, there is one list more: the tuples' numbers in order of arrival.
    """

    __slots__ = ("elements", "lists")

    def __init__(self) -> None:
        self.elements: tuple[Element, ...] | None = None
        self.lists: tuple[list[Any], ...] = ()

    def __getstate__(self) -> Any:
        return self.elements, self.lists

    def __setstate__(self, state: Any) -> None:
        self.elements, self.lists = state


class WindowAggregate(LibraryLogic):
    """Base class of the aggregates: arguments, results, fields."""

    config: Config
    makes_marks = False
    users_code = None
    inner_types = ()
    version = 2  # since version 2, the sums of std are exact

    def upgrade(self, attributes: dict[str, Any], version: int) -> dict[str, Any]:
        if version < 2 and any(fold.kind == "std" for fold in self.config.folds):
            raise NotImplementedError("its sums for agg.std were rounded, and cannot be continued exactly")
        return attributes

    def settings(self) -> str:
        config = self.config
        return f"{config.window} {'; '.join(fold.fingerprint() for fold in config.folds)}"

    def known(self, operator: Process, inputs: tuple[TupleType, ...]) -> Model:
        windows, why = self.config.window.results
        results = MANY if self.config.gives_many and windows != NONE else windows
        late = operator.results - 1  # a port for late tuples, if the window is in event time
        counts = (results, *((AT_MOST_ONE,) * late))
        copies = ((self.copies(),), *(((same(inputs[0], inputs[0]),),) * late))
        return Model(why, counts, copies, (self.reads(),))

    def copies(self) -> Copies:
        return key_folds(self.config.folds, self.config.fields, self.config.window.by)

    def reads(self) -> frozenset[str] | None:
        return fold_reads(self.config.folds, self.config.window.reads)

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        return fold_code(self.config.folds, inputs[0], operator.where)

    @property
    def has_late(self) -> bool:
        return self.config.late

    @property
    def time_lengths(self) -> tuple[int, ...]:
        window = self.config.window
        return (window.size, window.step) if window.timed else ()

    def taken(self, row: Any, *, number: int | None = None, zone: dt.tzinfo | None = None) -> Taken:
        """The values of a tuple that the folds need. This can fail, so it is called before any change.

        `number`: its number in order of arrival, in windows that share panes; `zone`: that of its event time.
        """
        elements, values = list[Element](), list[Any]()
        for fold, scalar in zip(self.config.folds, self.config.scalars, strict=True):
            value = zone if isinstance(scalar, WindowBound) else fold.value_of(row)
            if isinstance(scalar, WholeWindow):
                values.append(value)
            else:
                elements.append(scalar.start(value if number is None else (number, value)))
        return tuple(elements), _with_number(values, number)

    def add(self, pane: Pane, taken: Taken) -> None:
        elements, values = taken
        if pane.elements is None:
            pane.elements, pane.lists = elements, tuple([v] for v in values)
            return
        pane.elements = combine_all(pane.elements, elements, self.config.combined)
        for held, value in zip(pane.lists, values, strict=True):
            held.append(value)

    def emit(self, panes: Sequence[Pane], *, rank: int = 0, start: int = 0, end: int = 0) -> None:
        """Emit the result of a window that consists of these panes."""
        filled = [pane for pane in panes if pane.elements is not None]
        if not filled:
            return
        elements = fold_all([p.elements for p in filled if p.elements is not None], self.config.combined)
        lists = [[v for p in filled for v in p.lists[i]] for i in range(len(filled[0].lists))]
        if self.config.window.shares_panes and lists:
            lists = in_order(lists[:-1], lists[-1])
        self.emit_folded(elements, lists, rank=rank, start=start, end=end)

    def emit_folded(
        self,
        elements: Sequence[Element],
        lists: Sequence[Sequence[Any]],
        *,
        rank: int = 0,
        start: int = 0,
        end: int = 0,
    ) -> None:
        combined, values = iter(elements), iter(lists)
        folds: dict[str, Any] = {}
        for index, (fold, scalar) in enumerate(zip(self.config.folds, self.config.scalars, strict=True)):
            match scalar:
                case WindowBound():
                    value = from_time(end if scalar.end else start, fold.type, scalar.finish(next(combined)))
                case Monoid():
                    value = scalar.finish(next(combined))
                case WholeWindow():
                    value = scalar.value(next(values), fold)
            folds[fold_name(index)] = value
        fields = self.config.fields.fields
        self.submit({name: conform(evaluate(expr, folds), expr.type) for name, expr in fields}, rank=rank)


def _with_number(values: Sequence[Any], number: int | None) -> tuple[Any, ...]:
    return tuple(values) if number is None or not values else (*values, number)


OF_FOLDS = ("settings", "copies", "reads", "code", "taken", "emit_folded")  # methods of WindowAggregate


@dataclass(frozen=True, slots=True)
class ApplyConfig:
    """The window and the function that is applied to its tuples."""

    window: Any
    function: Callable[[list[Any]], Iterable[Any]]
    combined: tuple[()] = ()
    folds: tuple[()] = ()

    gives_many: ClassVar[bool] = True

    @property
    def late(self) -> bool:
        return bool(self.window.timed)

    def __str__(self) -> str:
        return f"{self.window} {code_fingerprint(self.function)}"


class Applied:
    """Mixin that keeps the tuples themselves instead of folds. It must replace everything that depends on folds."""

    config: Any
    submit: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kept = [name for name in OF_FOLDS if getattr(cls, name) is getattr(WindowAggregate, name)]
        if kept:
            raise InternalError(f"{cls.__qualname__} does not define {', '.join(kept)}: those of aggregates need folds")

    def settings(self) -> str:
        return str(self.config)

    def copies(self) -> Copies:
        return {}

    def reads(self) -> frozenset[str] | None:
        return None

    def code(self, operator: Process, inputs: tuple[TupleType, ...]) -> Iterable[UserCode]:
        made = UserFunction(
            function=self.config.function,
            where=operator.where,
            arguments=(ListOf(inputs[0]),),
            use=TUPLES,
            output=operator.outputs[0],
        )
        return (made,)

    def taken(self, row: Any, *, number: int | None = None, zone: dt.tzinfo | None = None) -> Taken:
        return (), _with_number([row], number)

    def emit_folded(
        self, elements: Sequence[Any], lists: Sequence[Sequence[Any]], *, rank: int = 0, start: int = 0, end: int = 0
    ) -> None:
        for result in self.config.function(list(lists[0])):
            self.submit(result, rank=rank)
