"""Move the keys of one operator to different buckets, without the program that wrote them.

A key's bucket is a function of its canonical form (`runtime.keys`), and the canonical form is stored with every key;
the state of a key is moved unchanged and never decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from thalweg.errors import CheckpointError
from thalweg.runtime.columns import Array
from thalweg.runtime.describe_bucket import OperatorPart
from thalweg.runtime.keys import buckets_of
from thalweg.runtime.left_folds import group_order
from thalweg.runtime.records import StoredEntry, pack_entries
from thalweg.runtime.state import write_batch


def rebucket(operator: str, parts: Sequence[OperatorPart], buckets: int) -> dict[int, bytes]:
    """The operator's part of each new bucket that has keys, from its parts of all old ones."""
    tables = [batch for part in parts if (batch := part.table()) is not None and batch.num_rows]
    lists = [entries for part in parts if (entries := part.records())]
    unknown = [part for part in parts if part.table() is None and part.records() is None]
    if unknown or (tables and lists):
        raise CheckpointError("this state has a format that this version does not support", operator=operator)
    return dict(_tables(operator, tables, buckets) if tables else _entries(operator, lists, buckets))


def _tables(operator: str, tables: Sequence[pa.RecordBatch], buckets: int) -> Iterator[tuple[int, bytes]]:
    # A join stores the attributes that its program used, and the program may have changed while the run was stopped.
    # An attribute that some keys lack cannot be used by any program any more.
    common = [n for n in tables[0].schema.names if all(n in table.schema.names for table in tables)]
    schema = tables[0].select(common).schema
    whole = pa.Table.from_batches([table.select(common).cast(schema) for table in tables])
    keys = whole.column("key")
    _check_distinct(operator, len(keys), len(keys.unique()))
    found = np.concatenate([buckets_of(chunk, buckets) for chunk in keys.chunks])
    for bucket, rows in _by_bucket(found, buckets):
        (batch,) = whole.take(pa.array(rows)).combine_chunks().to_batches()
        yield bucket, write_batch(batch)


def _entries(operator: str, lists: Sequence[list[StoredEntry]], buckets: int) -> Iterator[tuple[int, bytes]]:
    entries = [entry for kept in lists for entry in kept]
    _check_distinct(operator, len(entries), len({entry.key for entry in entries}))
    if not entries:
        return
    for bucket, rows in _by_bucket(buckets_of(pa.array([entry.key for entry in entries]), buckets), buckets):
        yield bucket, pack_entries(entries[row] for row in rows.tolist())


def _by_bucket(found: Array, buckets: int) -> Iterator[tuple[int, Array]]:
    """The rows of each bucket that has any, in their old order."""
    order, starts, lengths = group_order(found, buckets)
    for bucket in np.flatnonzero(lengths).tolist():
        yield bucket, order[starts[bucket] : starts[bucket] + lengths[bucket]]


def _check_distinct(operator: str, keys: int, distinct: int) -> None:
    """A key that is stored twice is state that no engine wrote. It is rejected: moving only one would lose state."""
    if keys != distinct:
        raise CheckpointError(
            "a key has state in two places", operator=operator, expected=f"{keys} keys", found=f"{distinct} distinct"
        )
