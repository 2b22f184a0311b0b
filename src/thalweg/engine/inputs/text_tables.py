"""Text files, CSV and JSON lines, as Arrow tables."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from thalweg.engine.storage.json_lines import TO_TEXT
from thalweg.ir.types import STR, TupleType
from thalweg.runtime.arrow_types import ARROW_TYPES


def parse_text(source: str | pa.NativeFile, format: str, tuple_type: TupleType | None) -> pa.Table:
    """The table of a file, or of bytes in memory; raises Arrow's errors. Without a tuple type, types are inferred.
    JSON attributes that the type does not have are not read, so each row may have others, of any type."""
    kinds = {} if tuple_type is None else {n: k.required for n, k in tuple_type.attributes}
    types = {n: pa.string() if k in TO_TEXT else ARROW_TYPES[k] for n, k in kinds.items()}
    if format != "csv":
        schema = pa.schema(list(types.items()))
        options = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = pyarrow.json.read_json(source, parse_options=options)
        for name, kind in kinds.items():
            if kind is STR:
                table.column(name).validate(full=True)  # Arrow's reader of JSON takes any bytes as text
        return table
    # Only an empty field is a null: "nan" is a float, and "NA" is not a valid number. A str is never null; a
    # `str | None` is "" only if quoted, and None otherwise.
    convert = pyarrow.csv.ConvertOptions(
        column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
    )
    table = pyarrow.csv.read_csv(source, convert_options=convert)
    try:
        table.schema.names  # noqa: B018 (decodes them)
    except UnicodeDecodeError as error:
        raise pa.ArrowInvalid(f"the header is not in UTF-8 ({error})") from None
    for n, k in () if tuple_type is None else tuple_type.attributes:
        if k is STR and table.column_names.count(n) == 1:
            table = table.set_column(table.column_names.index(n), n, table.column(n).fill_null(""))
    return table
