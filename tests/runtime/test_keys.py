"""Keys decide where state lives, for as long as a checkpoint lives: their hash must never change."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.ir.types import BOOL, FLOAT, INT, STR, list_of
from thalweg.ir.values import FrozenList
from thalweg.runtime.columns import Coded, Column, from_values
from thalweg.runtime.key_ranks import hash_of, key_rank
from thalweg.runtime.keys import Keys, buckets_of, keys_of, stable_hash

MASK = 2**64 - 1
SEED = 0x9E3779B97F4A7C15


def mix(value: int) -> int:
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


def slow_hash(key: int | bytes) -> int:
    """The same hash, one key and one word at a time. A last, short word is at the high end of its 64 bits."""
    if isinstance(key, int):
        return mix((key & MASK) ^ SEED)
    hashed = SEED ^ (len(key) * 0xFF51AFD7ED558CCD & MASK)
    for start in range(0, len(key), 8):
        word = key[start : start + 8]
        hashed = mix(hashed ^ int.from_bytes(word, "little") << 8 * (8 - len(word)))
    return mix(hashed)


def hashes(*columns: Column) -> list[int]:
    keys = keys_of(columns, len(columns[0]))
    found: list[int] = stable_hash(keys.distinct)[keys.codes].tolist()
    return found


GOLDEN = [
    (
        (from_values([0, 1, -1, 2**63 - 1], INT),),
        [0xE220A8397B1DCDAF, 0xE4D971771B652C20, 0xDE0A564CBCD060C4, 0x39CA3C835068D818],
    ),
    ((from_values([False, True], BOOL),), [0xE220A8397B1DCDAF, 0xE4D971771B652C20]),
    (
        (from_values([0.0, 1.5, float("nan"), float("inf")], FLOAT),),
        [0xE220A8397B1DCDAF, 0x88747B63583E67C7, 0x8709D8D19B4C0AC2, 0xA9FE2C7F019F06DA],
    ),
    (
        (from_values(["", "a", "IBM", "eight888", "nine99999", "日本語"], STR),),
        [
            0xE220A8397B1DCDAF,
            0xA539D8EBCC95021B,
            0x42F3937B02FAE399,
            0xD327E5C25E563AD5,
            0xC4E399328904FAA8,
            0x606B9728627A6415,
        ],
    ),
    ((from_values(["a", "b"], STR), from_values([1, 2], INT)), [0xDADE296351F6550D, 0x175EBF795A37BD81]),
]


@pytest.mark.parametrize(("columns", "expected"), GOLDEN)
def test_the_hash_never_changes(columns: tuple[Column, ...], expected: list[int]) -> None:
    """If this fails, do not edit the numbers: every stored state would be looked for in the wrong bucket."""
    assert hashes(*columns) == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_ints_hash_as_one_by_one(values: list[int]) -> None:
    assert hashes(from_values(values, INT)) == [slow_hash(v) for v in values]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_strings_hash_as_one_by_one(values: list[str]) -> None:
    assert hashes(from_values(values, STR)) == [slow_hash(v.encode()) for v in values]


@given(st.lists(st.tuples(st.text("ab\0", max_size=9), st.integers(-2, 2), st.booleans()), min_size=1))
def test_several_attributes_hash_as_one_by_one(rows: list[tuple[str, int, bool]]) -> None:
    columns = [from_values(v, kind) for v, kind in zip(zip(*rows, strict=True), (STR, INT, BOOL), strict=True)]
    packed = [
        len(s.encode()).to_bytes(8, "little")
        + s.encode()
        + i.to_bytes(8, "little", signed=True)
        + int(b).to_bytes(8, "little")
        for s, i, b in rows
    ]
    assert hashes(*columns) == [slow_hash(p) for p in packed]


def test_a_sliced_array_hashes_like_a_whole_one() -> None:
    whole = pa.array(["skip", "a", "nine99999", "skip"])
    assert stable_hash(whole.slice(1, 2)).tolist() == stable_hash(pa.array(["a", "nine99999"])).tolist()


def distinct(keys: Keys) -> int:
    assert sorted(set(keys.codes.tolist())) == list(range(len(keys.distinct))), "every distinct key occurs"
    return len(keys.distinct)


def test_values_equal_in_python_are_one_key() -> None:
    other_nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    zeros_and_nans = np.concatenate([[0.0, -0.0, float("nan")], other_nan])
    keys = keys_of([zeros_and_nans], 5)
    assert distinct(keys) == 2
    assert keys.codes.tolist() == [0, 0, 1, 1, 1]


def test_text_is_compared_by_code_points() -> None:
    """é composed and decomposed look alike and are different strings, in Python and here."""
    assert distinct(keys_of([from_values(["é", "e\u0301", "é"], STR)], 3)) == 2


def test_attributes_do_not_run_together() -> None:
    """("ab", "c") and ("a", "bc") are different keys."""
    columns = [from_values(["ab", "a", "ab"], STR), from_values(["c", "bc", "c"], STR)]
    keys = keys_of(columns, 3)
    assert keys.codes.tolist() == [0, 1, 0]
    assert distinct(keys) == 2


def test_no_key_is_one_key() -> None:
    keys = keys_of([], 3)
    assert keys.codes.tolist() == [0, 0, 0]
    assert distinct(keys) == 1


def test_dictionary_values_that_no_row_uses_are_not_keys() -> None:
    """After an exchange a dictionary still holds the keys of other channels; they must get no state here."""
    column = Coded(np.array([2, 2, 0], np.int32), pa.array(["c", "gone", "a"]))
    keys = keys_of([column], 3)
    assert keys.distinct.to_pylist() == ["c", "a"]
    assert keys.codes.tolist() == [1, 1, 0]


@given(st.integers(1, 9))
def test_buckets_are_in_range_and_follow_the_hash(buckets: int) -> None:
    keys = pa.array(range(50), pa.int64())
    assert buckets_of(keys, buckets).tolist() == [slow_hash(v) % buckets for v in range(50)]


def test_the_hash_of_a_key_is_that_of_what_columns_carry() -> None:
    """User functions see lists and tuples of their own classes."""
    kind = list_of(INT)
    assert hash_of([FrozenList([1, 2])], [kind]) == hash_of([(1, 2)], [kind])


@pytest.mark.parametrize("hours", [2, -2])
@pytest.mark.parametrize("clock", [datetime.min, datetime.max, datetime(2024, 7, 1)])
def test_keys_of_all_datetimes_have_an_order(clock: datetime, hours: int) -> None:
    zoned = clock.replace(tzinfo=timezone(timedelta(hours=hours)))
    assert key_rank([clock], 0)[0] - key_rank([zoned], 0)[0] == hours * 3_600_000_000
