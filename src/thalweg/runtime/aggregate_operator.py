"""Aggregates in a PE: the kernel of a frame, the row path where it falls back, and the results at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thalweg.errors import summary
from thalweg.ir.folds import fold_name
from thalweg.ir.operators import Aggregate, rank_width
from thalweg.ir.types import STR, TupleType
from thalweg.runtime import aggregate
from thalweg.runtime import row_functions as rows
from thalweg.runtime.aggregate import KeyGroups
from thalweg.runtime.columns import Array, Column, from_values, repeated, take
from thalweg.runtime.failed_tuples import put_letters, record_failure
from thalweg.runtime.frame import Frame, Sub
from thalweg.runtime.kernels import Fallback
from thalweg.runtime.key_ranks import hash_of, key_rank
from thalweg.runtime.keys import keys_of
from thalweg.runtime.merge_frames import merge
from thalweg.runtime.row_path import RowPath, at_rows, some
from thalweg.runtime.turn import Turn
from thalweg.runtime.vectorized import Columns, VectorFunction, Vectorized


class AggregateOperators(RowPath):
    """The aggregates of a PE. Their state is the state of the turn's epoch."""

    def aggregate(
        self,
        turn: Turn,
        name: str,
        frame: Frame | None,
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
        live: Sequence[str],
    ) -> Frame | None:
        operator = self.program.operators[name]
        assert isinstance(operator, Aggregate)
        emitted = None if frame is None else self._aggregate(turn, operator, frame, arguments, fields, live)
        if emitted is not None and (width := rank_width(operator)):
            emitted = emitted.padded(len(emitted.subs) + width)
        if turn.end is None or not operator.acts_at_end:
            return emitted
        closed = self._close_aggregate(turn, operator, live)
        return merge([f for f in (emitted, closed) if f is not None])

    def _aggregate(
        self,
        turn: Turn,
        operator: Aggregate,
        frame: Frame,
        arguments: Callable[[Columns, int], list[Column | None]],
        fields: VectorFunction,
        live: Sequence[str],
    ) -> Frame | None:
        assert turn.state is not None
        given = self._arguments(turn, operator, frame, arguments)
        if given is not None:
            frame, argument_columns = given
            if not len(frame):
                return None
        key_values = [frame.columns[n] for n in operator.window.by]
        keys = keys_of(key_values, len(frame))
        groups = KeyGroups(operator, turn.state, keys, key_values)
        if given is None:
            return self._aggregate_rows(turn, operator, frame, keys.codes, groups, live)
        try:
            folds = aggregate.fold_frame(operator, groups, argument_columns)
        except Fallback:
            return self._aggregate_rows(turn, operator, frame, keys.codes, groups, live)
        shown = aggregate.emitting(operator, groups)
        place = groups.order if shown is None else groups.order[shown]
        back = np.argsort(place, kind="stable") if shown is not None else _inverse(place)
        source = back if shown is None else shown[back]
        at = None if shown is None else place[back]  # which input tuples emit; None: all of them
        emitted = frame.with_columns({}) if at is None else frame.with_columns({}).take(at)
        if not len(emitted):
            return None
        in_order = {n: take(column, source) for n, column in folds.items()}
        found = self._vector(operator.name, fields, emitted.with_columns(in_order))
        columns = found.result
        if len(found.rest):
            emitting = frame if at is None else frame.take(at)
            folded = {n: take(column, found.rest) for n, column in in_order.items()}
            columns, kept = self._field_rows(turn, operator, emitting, folded, found)
            if len(found.rows):
                columns, kept = found.merged({n: found.result[n] for n in live}, columns, kept)
            emitted = at_rows(emitted, kept)
        return some(emitted.with_columns({n: columns[n] for n in live}))

    def _arguments(
        self,
        turn: Turn,
        operator: Aggregate,
        frame: Frame,
        arguments: Callable[[Columns, int], list[Column | None]],
    ) -> tuple[Frame, list[Column | None]] | None:
        """The tuples whose arguments can be computed, and these arguments; None: all tuples take the row path."""
        found = self._vector(operator.name, arguments, frame)
        if not len(found.rest):
            return frame, found.result
        if not len(found.rows):
            return None
        tuples = rows.rows(frame.take(found.rest), self.program.input_types[operator.name][0])
        values, kept = self._each(
            turn, operator.name, frame, tuples, lambda row: aggregate.arguments(operator.folds, row), found
        )
        by_fold = {str(i): column for i, column in enumerate(found.result) if column is not None}
        of_rest = {i: from_values([v[int(i)] for v in values], operator.folds[int(i)].type) for i in by_fold}
        merged, at = found.merged(by_fold, of_rest, kept)
        return frame.take(at), [merged.get(str(i)) for i in range(len(operator.folds))]

    def _close_aggregate(self, turn: Turn, operator: Aggregate, live: Sequence[str]) -> Frame | None:
        """The results of the blocks that are still open at the end."""
        assert turn.state is not None
        assert turn.end is not None
        (tuple_type,) = self.program.input_types[operator.name]
        kinds = [tuple_type.kind(n) for n in operator.window.by]
        keys, folds = aggregate.at_end(operator, turn.state)
        ranked = sorted(
            ((0, *key_rank(key, hash_of(key, kinds) if key else 0)), index) for index, key in enumerate(keys)
        )
        position = turn.end + self.program.ends[operator.name]
        empty = (0,) * self.program.widths[operator.name]
        values: list[tuple[Any, ...]] = []
        ranks: list[tuple[int, ...]] = []
        failed: list[tuple[int, ...]] = []
        errors: list[str] = []
        for rank, index in ranked:
            try:
                values.append(aggregate.row_fields(operator.fields.fields, folds[index]))
                ranks.append(rank)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if operator.on_error == "fail":
                    record_failure(self.program, turn, operator, (position, *empty, *rank), error, "the end")
                    break
                failed.append(rank)
                errors.append(summary(error))
        if failed and operator.on_error == "skip":
            turn.output.counts.skip(operator.name, len(failed))
        elif failed:
            at = _at_end(position, empty, failed)
            put_letters(turn, operator, at, from_values(errors, STR), repeated("the end", len(at)))
        if not values:
            return None
        columns = rows.columns_of(values, operator.outputs[0])
        return _at_end(position, empty, ranks).with_columns(columns).select(live)

    def _aggregate_rows(
        self, turn: Turn, operator: Aggregate, frame: Frame, codes: Array, groups: KeyGroups, live: Sequence[str]
    ) -> Frame | None:
        folds = aggregate.RowFolds(operator, groups)
        items = zip(codes.tolist(), rows.rows(frame, self.program.input_types[operator.name][0]), strict=True)

        def step(item: tuple[int, Any]) -> tuple[Any, ...] | None:
            group, row = item
            values = folds.step(group, row)
            return aggregate.row_fields(operator.fields.fields, values) if folds.emits(group) else None

        results, at = self._each(turn, operator.name, frame, items, step)
        folds.store()
        emitted = [i for i, result in enumerate(results) if result is not None]
        columns = rows.columns_of([results[i] for i in emitted], operator.outputs[0])
        return some(frame.with_columns({}).take(at[np.array(emitted, np.int64)]).with_columns(columns).select(live))

    def _field_rows(
        self, turn: Turn, operator: Aggregate, emitting: Frame, folds: Columns, found: Vectorized
    ) -> tuple[dict[str, Column], Array]:
        """The output fields computed row by row, after their kernel fell back, and the rows that succeeded."""
        values, at = self._each(
            turn,
            operator.name,
            emitting,
            rows.rows(at_rows(emitting.with_columns({}), found.rest).with_columns(folds), _fold_type(operator)),
            lambda row: aggregate.row_fields(operator.fields.fields, {n: getattr(row, n) for n in folds}),
            found,
        )
        return rows.columns_of(values, operator.outputs[0]), at


def _at_end(position: int, empty: tuple[int, ...], ranks: Sequence[tuple[int, ...]]) -> Frame:
    """The places of events at the end, without attributes."""
    subs: tuple[Sub, ...] = (*empty, *(np.array(column, np.int64) for column in zip(*ranks, strict=True)))
    return Frame(np.full(len(ranks), position, np.int64), subs, {})


def _fold_type(operator: Aggregate) -> TupleType:
    return TupleType(operator.name, tuple((fold_name(i), fold.type) for i, fold in enumerate(operator.folds)))


def _inverse(order: Array) -> Array:
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return back
