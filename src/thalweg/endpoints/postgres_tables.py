"""Tables for tuples: the types of columns that Thalweg creates, and the types that existing columns may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from thalweg.endpoints.postgres import Postgres
from thalweg.errors import OutputError
from thalweg.ir.endpoints import POSITION_COLUMNS
from thalweg.ir.operators import Sink
from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR, AttributeType, TupleType

# A new table gets the first type. None of them loses data: an integer could overflow, a real has fewer digits, and a
# numeric with a scale rounds.
TYPES: Mapping[AttributeType, tuple[str, ...]] = {
    INT: ("bigint", "numeric"),
    FLOAT: ("double precision",),
    STR: ("text", "character varying"),
    BOOL: ("boolean",),
    BYTES: ("bytea",),
    DATETIME: ("timestamp without time zone", "timestamp with time zone"),
    DATE: ("date",),
    DECIMAL: ("numeric",),
}
JSON = ("jsonb", "json")


@dataclass(frozen=True, slots=True)
class DatabaseColumn:
    """A column of an existing table."""

    type: str
    required: bool
    fills_itself: bool  # it has a default or is computed

    def __str__(self) -> str:
        return self.type + (" not null" if self.required else "")


def taken_types(kind: AttributeType) -> tuple[str, ...]:
    return JSON if kind.composite else TYPES[kind.required]


def wanted(endpoint: Postgres, tuple_type: TupleType) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """The name and the possible types of each column, and whether it always has a value."""
    for name, kind in tuple_type.attributes:
        yield name, taken_types(kind), not kind.optional
    if endpoint.position:
        for name in POSITION_COLUMNS:
            yield name, TYPES[INT], True


def made_of(endpoint: Postgres, tuple_type: TupleType) -> str:
    """The columns of a new table, as text."""
    columns = wanted(endpoint, tuple_type)
    return ", ".join(f"{name} {types[0]}{' not null' if always else ''}" for name, types, always in columns)


def create_table(
    cursor: psycopg.Cursor[tuple[Any, ...]], table: sql.Identifier, endpoint: Postgres, tuple_type: TupleType
) -> None:
    columns = [
        sql.SQL("{} {}{}").format(sql.Identifier(name), sql.SQL(types[0]), sql.SQL(" NOT NULL" if always else ""))
        for name, types, always in wanted(endpoint, tuple_type)
    ]
    cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(columns)))


_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
       a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> ''
FROM pg_attribute a
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""


def columns_of_table(
    cursor: psycopg.Cursor[tuple[Any, ...]], table: sql.Identifier
) -> dict[str, DatabaseColumn] | None:
    """None: the table does not exist."""
    named = table.as_string(cursor)
    found = cursor.execute("SELECT to_regclass(%s)", (named,)).fetchone()
    if found is None or found[0] is None:
        return None
    rows = cursor.execute(_COLUMNS, (named,)).fetchall()
    return {name: DatabaseColumn(type_, required, fills) for name, type_, required, fills in rows}


def check_columns(sink: Sink, endpoint: Postgres, tuple_type: TupleType, there: Mapping[str, DatabaseColumn]) -> None:
    """Reject a table that cannot hold every tuple unchanged."""
    names = endpoint.columns(tuple_type)
    for problem in _problems(endpoint, tuple_type, there):
        raise OutputError(
            f"the table {endpoint.table} of {endpoint.shown} does not fit: {problem}",
            operator=sink.name,
            where=sink.where,
            expected=made_of(endpoint, tuple_type),
            found=", ".join(f"{name} {column}" for name, column in there.items()) or "no columns",
            hint=f"use a .map() to attributes other than {', '.join(names)}, or a different table",
        )


def _problems(endpoint: Postgres, tuple_type: TupleType, there: Mapping[str, DatabaseColumn]) -> Iterator[str]:
    for name, types, always in wanted(endpoint, tuple_type):
        column = there.get(name)
        if column is None:
            yield f"{name} is missing"
        elif column.type not in types:
            yield f"{name} is {column.type}, expected {' or '.join(types)}"
        elif column.required and not always:
            yield f"{name} is a NOT NULL column, but may be None"
    for name, column in there.items():
        if name not in endpoint.columns(tuple_type) and column.required and not column.fills_itself:
            yield f"{name} requires a value, but no attribute has this name"
