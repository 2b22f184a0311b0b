"""Keys of all types: equal in Python means one key, here and in the reference, and the hash never changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.test_keys import hashes, slow_hash
from tests.values import AGAIN, BERLIN, BOXED, EAST, POINT, TWICE, VALUES, values_of
from thalweg.ir.canonical_form import canonical
from thalweg.ir.types import (
    BYTES,
    DATE,
    DATETIME,
    DECIMAL,
    FLOAT,
    INT,
    STR,
    AttributeType,
    list_of,
    optional,
)
from thalweg.ir.values import reviver
from thalweg.runtime.columns import from_values
from thalweg.runtime.keys import keys_of
from thalweg.verify.reference_keys import key_of as _key


def word(value: int) -> bytes:
    return value.to_bytes(8, "little")


GOLDEN: list[tuple[Any, AttributeType, bytes, int]] = [
    (None, optional(INT), b"N", 0x3F50F6D22D4F8E54),
    (-2, optional(INT), b"I" + b"\xfe" + b"\xff" * 7, 0x06F7A2C2C40B274B),
    (1.5, optional(FLOAT), b"F" + bytes.fromhex("000000000000f83f"), 0xF6D3840CF5C03E4E),
    ("é", optional(STR), b"S" + word(2) + b"\xc3\xa9", 0x7B9804660BD6FF52),
    (b"\x07", BYTES, b"B" + word(1) + b"\x07", 0x20A1A5989A6D8AF6),
    (date(1, 1, 2), DATE, b"D" + word(2), 0xCD193B57B725AED0),
    (datetime(1, 1, 1, 0, 0, 0, 5), DATETIME, b"C" + word(5), 0x6BBDBC496F955540),
    (
        datetime(1, 1, 1, 14, 0, 0, 5, tzinfo=EAST),
        DATETIME,
        b"U" + word(5),
        0x861C2B778CE9768B,
    ),
    (Decimal("-12.500"), DECIMAL, b"M" + word(5) + b"-12.5", 0xDCC81324C772E4EA),
    (
        (0, None),
        list_of(optional(INT)),
        b"T" + word(2) + b"I" + word(0) + b"N",
        0xBD03B069DB40CB17,
    ),
    (
        (0.0, ()),
        POINT,
        b"T" + word(2) + b"F" + word(0) + b"T" + word(0),
        0xF8A34F48F948D683,
    ),
]


@pytest.mark.parametrize(("value", "kind", "form", "hashed"), GOLDEN)
def test_the_form_and_its_hash_never_change(value: Any, kind: AttributeType, form: bytes, hashed: int) -> None:
    """If this fails, do not edit the numbers: every stored state would be looked for in the wrong bucket."""
    assert canonical(value) == form
    assert hashes(from_values([value], kind)) == [hashed]
    assert slow_hash(form) == hashed


EQUAL: list[list[Any]] = [
    [Decimal("1"), Decimal("1.0"), Decimal("1.00"), Decimal("0.1E+1")],
    [Decimal("0"), Decimal("-0"), Decimal("0E+9"), Decimal("0.000")],
    [Decimal("NaN"), Decimal("-NaN"), Decimal("NaN7")],
    [Decimal("Infinity")],
    [Decimal("-Infinity")],
    [datetime(2024, 1, 1, 1, tzinfo=BERLIN), datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=EAST)],
    [datetime(2024, 1, 1), datetime(2024, 1, 1, fold=1)],
    [TWICE, TWICE.astimezone(UTC)],
    [AGAIN, AGAIN.astimezone(UTC)],
    [date(2024, 1, 1)],
    [(0.0, ()), (-0.0, ())],
    [(float("nan"), ("a",)), (-float("nan"), ("a",))],
    [(Decimal("1.0"),), (Decimal("1"),)],
    [None],
    [b""],
    [()],
    [((),)],
    [("ab", "c")],
    [("a", "bc")],
]


def test_equal_values_are_one_key_and_others_are_not() -> None:
    forms = [{canonical(value) for value in values} for values in EQUAL]
    assert all(len(form) == 1 for form in forms)
    assert len(set[bytes]().union(*forms)) == len(EQUAL)


def has_own_rule(value: Any) -> bool:
    """A NaN, or a clock's repeated hour: there Python's equality would not do for keys."""
    if isinstance(value, tuple):
        return any(map(has_own_rule, value))
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.utcoffset() != value.replace(fold=1 - value.fold).utcoffset()
    return isinstance(value, float | Decimal) and value != value


@st.composite
def pairs(draw: st.DrawFn) -> tuple[AttributeType, Any, Any]:
    kind = draw(st.sampled_from([*BOXED, list_of(DECIMAL), list_of(DATETIME)]))
    return kind, draw(values_of(kind)), draw(values_of(kind))


@given(pairs())
def test_python_decides_which_values_are_equal(pair: tuple[AttributeType, Any, Any]) -> None:
    _, a, b = pair
    if not has_own_rule(a) and not has_own_rule(b):
        assert (canonical(a) == canonical(b)) == (a == b)


@pytest.mark.parametrize("kind", BOXED, ids=str)
def test_all_pairs_of_nasty_values(kind: AttributeType) -> None:
    for a in VALUES[kind]:
        for b in VALUES[kind]:
            if not has_own_rule(a) and not has_own_rule(b):
                assert (canonical(a) == canonical(b)) == (a == b)


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_the_reference_agrees(kind: AttributeType) -> None:
    """Rows that are one key in the reference are one key in a frame, alone and together with a second attribute."""
    values = VALUES[kind] * 2
    other = [i % 2 for i in range(len(values))]
    seen = [SimpleNamespace(v=reviver(kind)(v), n=n) for v, n in zip(values, other, strict=True)]
    columns = [from_values(values, kind), from_values(other, INT)]
    for names, part in ((("v",), columns[:1]), (("v", "n"), columns)):
        expected = [_key(row, names) for row in seen]
        found = keys_of(part, len(values)).codes.tolist()
        for i, j in combinations(range(len(values)), 2):
            assert (expected[i] == expected[j]) == (found[i] == found[j]), (values[i], values[j])


@given(st.lists(pairs(), min_size=1, max_size=8))
def test_forms_do_not_run_together(several: list[tuple[AttributeType, Any, Any]]) -> None:
    """No form is the beginning of another one."""
    forms = {canonical(value) for _, a, b in several for value in (a, b)}
    assert not any(a != b and a.startswith(b) for a in forms for b in forms)


@given(st.lists(values_of(optional(STR)), min_size=1, max_size=9))
def test_boxed_keys_hash_as_one_by_one(values: list[Any]) -> None:
    assert hashes(from_values(values, optional(STR))) == [slow_hash(canonical(v)) for v in values]


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match="set has no canonical form"):
        canonical({1})
