"""Keys move to other buckets: all of them, each to the bucket of its hash, with unchanged state."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from thalweg.errors import CheckpointError
from thalweg.runtime.describe_bucket import OperatorPart
from thalweg.runtime.keys import buckets_of
from thalweg.runtime.rebucket import rebucket
from thalweg.runtime.records import StoredEntry, pack_entries, unpack_entries
from thalweg.runtime.state import write_batch

KEYS = {
    "str": pa.array(["", "a", "ab", "nine99999", "é", "日本語"]),
    "int": pa.array([0, -1, 7, 2**62, -(2**63), 5]),
    "binary": pa.array([b"", b"\0", b"a\0b", b"x" * 9, b"y", b"z"]),
}


def table(keys: pa.Array, **columns: pa.Array) -> OperatorPart:
    return OperatorPart("op", write_batch(pa.RecordBatch.from_pydict({"key": keys, **columns})))


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("buckets", [1, 2, 5, 64])
def test_tables(kind: str, buckets: int) -> None:
    keys = KEYS[kind]
    lists = pa.array([[float(n)] * n for n in range(6)])
    parts = [
        table(keys[:4], total=pa.array([0.5, -0.0, 2.5, 1e300]), held=lists[:4]),
        table(pa.nulls(0), total=pa.array([], pa.float64()), held=lists[:0]),  # a bucket without a key of this operator
        table(keys[4:], total=pa.array([float("inf"), 4.0]), held=lists[4:]),
    ]
    before = [row for part in parts for row in part.table().to_pylist()]  # type: ignore[union-attr]
    found = {bucket: OperatorPart("op", data).table() for bucket, data in rebucket("op", parts, buckets).items()}
    rows = [row for part in found.values() if part is not None for row in part.to_pylist()]
    assert sorted(map(repr, rows)) == sorted(map(repr, before))
    for bucket, part in found.items():
        assert part is not None
        assert set(buckets_of(part.column("key"), buckets).tolist()) == {bucket}


@pytest.mark.parametrize("kind", KEYS)
def test_objects_are_not_looked_into(kind: str) -> None:
    """Also entries that classes of different versions wrote come together in a bucket."""
    entries = [StoredEntry(key, 1 + n % 2, b"no pickle %d" % n) for n, key in enumerate(KEYS[kind].to_pylist())]
    parts = [
        OperatorPart("op", pack_entries(entries[:2])),
        OperatorPart("op", pack_entries([])),
        OperatorPart("op", pack_entries(entries[2:])),
    ]
    assert unpack_entries(rebucket("op", parts, 1)[0]) == entries
    found = {bucket: unpack_entries(data) for bucket, data in rebucket("op", parts, 3).items()}
    assert sorted(map(repr, (e for held in found.values() for e in held))) == sorted(map(repr, entries))
    for bucket, held in found.items():
        assert set(buckets_of(pa.array([e.key for e in held]), 3).tolist()) == {bucket}


def test_what_some_keys_lack_is_dropped() -> None:
    """A join stored more of its tuples after a restart with another program: no program can use it for all keys."""
    parts = [table(pa.array(["a"]), x=pa.array([1.0])), table(pa.array(["b"]), x=pa.array([2.0]), y=pa.array([3]))]
    assert OperatorPart("op", rebucket("op", parts, 1)[0]).table().schema.names == ["key", "x"]  # type: ignore[union-attr]


def test_no_bucket_without_state() -> None:
    assert rebucket("op", [], 4) == {}
    assert rebucket("op", [table(pa.nulls(0)), table(pa.nulls(0))], 4) == {}
    assert rebucket("op", [OperatorPart("op", pack_entries([]))], 4) == {}


def test_refusals() -> None:
    twice = [table(pa.array(["a"])), table(pa.array(["a", "b"]))]
    with pytest.raises(CheckpointError, match="a key has state in two places"):
        rebucket("op", twice, 2)
    objects = OperatorPart("op", pack_entries([StoredEntry("a", 1, b"")]))
    with pytest.raises(CheckpointError, match="a key has state in two places"):
        rebucket("op", [objects, objects], 2)
    for strange in (
        [OperatorPart("op", b"something else")],
        [OperatorPart("op", pickle.dumps({"a": 1}))],
        [objects, twice[0]],
    ):
        with pytest.raises(CheckpointError, match="a format that this version does not support"):
            rebucket("op", strange, 2)
