"""Conversion between attribute types and Spark's types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import IntegralType, StringType, StructType

from thalweg.errors import InputError, did_you_mean
from thalweg.ir.operators import Source
from thalweg.ir.types import AttributeType, TupleType
from thalweg.runtime.arrow_types import TAKEN, arrow_type

_NAMING = (IntegralType, StringType)  # types of columns whose values name a split


def arrow_schema(tuple_type: TupleType) -> pa.Schema:
    return pa.schema([pa.field(n, arrow_type(k), nullable=k.optional) for n, k in tuple_type.attributes])


def spark_schema(tuple_type: TupleType) -> StructType:
    """The columns of a stream's tuples, with Spark's types."""
    return from_arrow_schema(arrow_schema(tuple_type))


def check_columns(source: Source, schema: StructType, split_by: Sequence[str] = ()) -> None:
    """Check that every attribute has a column of its name with a matching type, and that there is a column for each
    part of a split's name. Nulls are found when rows are read."""
    for name in split_by:
        if name not in schema.names or not isinstance(schema[name].dataType, _NAMING):
            raise InputError(
                f"{source.endpoint.title} cannot be split by {name}",
                operator=source.name,
                where=source.where,
                expected="the name of a column of text or whole numbers",
                found=f"{name}: {schema[name].dataType.simpleString()}" if name in schema.names else _listed(schema),
                hint=did_you_mean(name, schema.names),
            )
    for name, kind in source.outputs[0].attributes:
        if name not in schema.names:
            raise InputError(
                f"{source.endpoint.title} has no column {name}",
                operator=source.name,
                where=source.where,
                expected=f"{name}: {kind}",
                found=_listed(schema),
                hint=did_you_mean(name, schema.names),
            )
        column = schema[name].dataType
        if not _fits(kind, _arrow(column)):
            raise InputError(
                f"the column {name} of {source.endpoint.title} has the wrong type",
                operator=source.name,
                where=source.where,
                expected=f"{name}: {kind}",
                found=f"{name}: {column.simpleString()}",
            )


def _listed(schema: StructType) -> str:
    return ", ".join(schema.names) or "no column"


def _arrow(column: object) -> pa.DataType | None:
    """The Arrow type; None if Arrow does not have it, which matches no attribute."""
    try:
        return to_arrow_type(column, timezone="UTC")  # type: ignore[arg-type]
    except Exception:  # PySpark raises several exception types
        return None


def _fits(kind: AttributeType, found: pa.DataType | None) -> bool:
    inner = kind.required
    if found is None:
        return False
    if inner.fields is not None:
        parts = {field.name: field.type for field in found} if pa.types.is_struct(found) else {}
        return all(n in parts and _fits(k, parts[n]) for n, k in inner.fields.attributes)
    if inner.item is not None:
        return pa.types.is_list(found) and _fits(inner.item, found.value_type)
    return TAKEN[inner](found)
