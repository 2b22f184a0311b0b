"""Attribute types in Arrow, in files and in the batches of user functions: the column types that are accepted when
reading and produced when writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.errors import did_you_mean
from thalweg.ir.attribute_text import Misfit as Misfit
from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR, AttributeType

ARROW_TYPES: Mapping[AttributeType, pa.DataType] = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    STR: pa.string(),
    BOOL: pa.bool_(),
    BYTES: pa.binary(),
    DATETIME: pa.timestamp("us"),
    DATE: pa.date32(),
    DECIMAL: pa.decimal128(38, 18),
}
_SHOWN = 60  # bytes of a damaged text in a message
_EPOCH, _DAY_ZERO, _MICROSECOND = datetime(1970, 1, 1), date(1970, 1, 1).toordinal(), timedelta(microseconds=1)


def arrow_type(kind: AttributeType, zone: str | None = None) -> pa.DataType:
    """The Arrow type of an attribute in a file. Datetimes have no time zone unless `zone` is given."""
    inner = kind.required
    if inner.fields is not None:
        return pa.struct([pa.field(n, arrow_type(k, zone), nullable=k.optional) for n, k in inner.fields.attributes])
    if inner.item is not None:
        return pa.list_(pa.field("item", arrow_type(inner.item, zone), nullable=inner.item.optional))
    return pa.timestamp("us", zone) if inner is DATETIME else ARROW_TYPES[inner]


# Reading


def _one_of(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    return lambda found: any(test(found) for test in tests)


is_text = _one_of(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_is_list = _one_of(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
TAKEN: Mapping[AttributeType, Callable[[pa.DataType], bool]] = {
    INT: pa.types.is_integer,
    FLOAT: _one_of(pa.types.is_floating, pa.types.is_integer),
    STR: is_text,
    BOOL: pa.types.is_boolean,
    BYTES: _one_of(
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view
    ),
    DATETIME: pa.types.is_timestamp,
    DATE: pa.types.is_date,
    DECIMAL: pa.types.is_decimal,
}


def distinct(table: pa.Table) -> pa.Table:
    """The table with string dictionaries as `Coded` columns require them. Arrow permits dictionaries with repeated
    values, nulls and other string types; such columns are decoded. For tables that Arrow's readers did not build."""
    for index, column in enumerate(table.columns):
        if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
            continue
        if any(invalid(chunk) for chunk in column.chunks):  # reported where the column is used
            continue
        if not all(_is_distinct(chunk.dictionary) for chunk in column.chunks):
            decoded = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
            table = table.set_column(index, table.column_names[index], pa.chunked_array(decoded, pa.string()))
    return table


def invalid(values: pa.Array | pa.ChunkedArray) -> pa.ArrowInvalid | None:
    """Why these values are damaged: text that is not UTF-8, offsets out of range. Their use can end the process."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        return error
    return None


def check_valid(column: pa.ChunkedArray, kind: AttributeType) -> None:
    """Raises Misfit, with the first row, if values are damaged."""
    error = invalid(column)
    if error is None:
        return
    start, stop = 0, len(column)
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if _damaged(column.slice(start, middle - start)) else (middle, stop)
    expected = "str in UTF-8" if kind.required is STR else str(kind)
    raise Misfit(expected, _text(column.slice(start, 1)) or f"damaged data ({error})", row=start)


def _text(column: pa.ChunkedArray) -> str | None:
    """The text in a column of one row, with replacements for bytes that are not UTF-8; None: its length is damaged."""
    [one] = [chunk for chunk in column.chunks if len(chunk)]
    if pa.types.is_dictionary(one.type):
        one = one.dictionary.slice(one.indices[0].as_py(), 1)
    try:
        one.validate()
        found: bytes = one.cast(pa.large_binary())[0].as_py()
    except pa.ArrowException:
        return None
    return repr(found[:_SHOWN].decode(errors="replace"))


def _damaged(column: pa.ChunkedArray) -> bool:
    """Whether one of the values is damaged. Arrow checks a dictionary as a whole, whichever of its entries are used."""
    for chunk in column.chunks:
        if not pa.types.is_dictionary(chunk.type):
            if invalid(chunk):
                return True
        elif any(invalid(chunk.dictionary.slice(i, 1)) for i in chunk.indices.unique().drop_null().to_pylist()):
            return True
    return False


def _is_distinct(values: pa.Array) -> bool:
    return pa.types.is_string(values.type) and not values.null_count and len(values.unique()) == len(values)


def one_column(table: pa.Table, name: str, kind: AttributeType) -> pa.ChunkedArray:
    """The column of an attribute; raises Misfit if the table has none, or several."""
    there = table.column_names
    if there.count(name) == 1:
        return table.column(name)
    found = f"a file with {', '.join(there)}" if there else "a file with none of the required columns"
    raise Misfit(str(kind), found, whole=True, hint=_other_name(name, there))


def _other_name(name: str, there: Sequence[str]) -> str | None:
    if name in there:
        return f"rename the columns: {there.count(name)} of them are called {name}"
    alike = [other for other in there if other.strip().lower() == name.lower()]
    return f"did you mean `{alike[0]}`?" if alike else did_you_mean(name, there)


def plain_values(column: pa.ChunkedArray, kind: AttributeType) -> pa.ChunkedArray:
    """A column of a type that has a numpy form, as that type."""
    if column.null_count:
        row = next(i for i, v in enumerate(column.is_null().to_pylist()) if v)
        raise Misfit(f"{kind} in every row", "nothing", row=row)
    if kind is STR and pa.types.is_dictionary(column.type) and is_text(column.type.value_type):
        return column
    if not TAKEN[kind](column.type):
        raise Misfit(str(kind), f"{column.type} (a different type)", whole=True)
    try:
        return column.cast(ARROW_TYPES[kind])
    except pa.ArrowInvalid as error:
        row = _first_that_fails(column, ARROW_TYPES[kind])
        raise Misfit(str(kind), f"{column[row]} as {column.type} ({error})", row=row) from None


def _first_that_fails(column: pa.ChunkedArray, into: pa.DataType) -> int:
    """The first row whose value cannot be cast; there is one."""
    start, stop = 0, len(column)
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            column.slice(start, middle - start).cast(into)
            start = middle
        except pa.ArrowInvalid:
            stop = middle
    return start


def file_values(column: pa.ChunkedArray, kind: AttributeType) -> list[Any]:
    """The values of a column of Python values, in the form that frames carry."""
    return [value for chunk in column.chunks for value in _values(chunk, kind)]


def _values(array: pa.Array, kind: AttributeType) -> list[Any]:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not array.null_count:
        return _there(array, kind.required)
    if not kind.optional:
        raise Misfit(f"{kind} in every row", "nothing")
    there = array.is_valid().to_pylist()
    values = iter(_there(array.drop_null(), kind.required) if any(there) else ())
    return [next(values) if valid else None for valid in there]


def _there(array: pa.Array, kind: AttributeType) -> list[Any]:
    if pa.types.is_null(array.type):
        return []  # a column of nulls has no valid values, so this part is empty
    if kind.fields is not None:
        return _structs(array, kind)
    if kind.item is not None:
        if not _is_list(array.type):
            raise Misfit(str(kind), str(array.type), whole=True)
        values = iter(_values(array.flatten(), kind.item))
        return [tuple(islice(values, length)) for length in pc.list_value_length(array).to_pylist()]
    if not TAKEN[kind](array.type):
        raise Misfit(str(kind), str(array.type), whole=True)
    try:
        return _SCALARS.get(kind, _cast)(array, kind)
    except (pa.ArrowException, OverflowError, ValueError) as error:
        raise Misfit(str(kind), f"{array.type} ({error})") from None


def _structs(array: pa.Array, kind: AttributeType) -> list[Any]:
    assert kind.fields is not None
    if not pa.types.is_struct(array.type):
        raise Misfit(str(kind), str(array.type), whole=True)
    arrays, parts = array.flatten(), []
    for name, inner in kind.fields.attributes:
        index = array.type.get_field_index(name)
        if index < 0:
            raise Misfit(str(kind.fields), str(array.type), whole=True)
        parts.append(_values(arrays[index], inner))
    return list(zip(*parts, strict=True))


def _cast(array: pa.Array, kind: AttributeType) -> list[Any]:
    found: list[Any] = array.cast(ARROW_TYPES[kind]).to_pylist()
    return found


def _decimals(array: pa.Array, kind: AttributeType) -> list[Any]:
    found: list[Any] = array.to_pylist()  # keeps the digits of the file
    return found


def _datetimes(array: pa.Array, kind: AttributeType) -> list[Any]:
    """Datetimes with a time zone in the file are instants; they become UTC."""
    zone = UTC if array.type.tz is not None else None
    counts = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()).to_pylist()
    return [(_EPOCH + _MICROSECOND * count).replace(tzinfo=zone) for count in counts]


def _dates(array: pa.Array, kind: AttributeType) -> list[Any]:
    return [date.fromordinal(_DAY_ZERO + day) for day in array.cast(pa.date32()).cast(pa.int32()).to_pylist()]


_SCALARS: Mapping[AttributeType, Callable[[pa.Array, AttributeType], list[Any]]] = {
    DATETIME: _datetimes,
    DATE: _dates,
    DECIMAL: _decimals,
}


# Writing


def file_array(values: Sequence[Any], kind: AttributeType) -> pa.Array:
    """Carried values as the array that is written to a file."""
    into = arrow_type(kind)
    try:
        return array_of(values, kind, into)
    except (pa.ArrowException, OverflowError) as error:
        for row, value in enumerate(values):
            try:
                array_of([value], kind, into)
            except (pa.ArrowException, OverflowError) as first:
                raise Misfit(f"a value that fits {into}", f"{value!r} in row {row} of the epoch ({first})") from None
        raise Misfit(f"values that fit {into}", str(error)) from None


def array_of(values: Sequence[Any], kind: AttributeType, into: pa.DataType) -> pa.Array:
    """Carried values as an array of this type. A value that it cannot hold raises an error of Arrow or Python."""
    return pa.array([_file_value(value, kind.required) for value in values], into)


def _file_value(value: Any, kind: AttributeType) -> Any:
    if value is None:
        return None
    if kind.fields is not None:
        return {n: _file_value(v, k.required) for (n, k), v in zip(kind.fields.attributes, value, strict=True)}
    if kind.item is not None:
        return [_file_value(v, kind.item.required) for v in value]
    if isinstance(value, datetime) and (offset := value.utcoffset()) is not None:
        return value.replace(tzinfo=None) - offset
    return value
