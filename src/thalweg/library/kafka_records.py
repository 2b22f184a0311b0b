"""Decoding the records of a topic into tuples: the function of the map that follows a Kafka source."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from thalweg.ir.attribute_text import json_value, json_values, parse_json
from thalweg.ir.types import AttributeType, TupleType

VALUE, KEY = "value", "key"


class Decode:
    """Decodes a record; raises if it is not a tuple of the type. The map's error policy decides how to handle it."""

    def __init__(self, key: str | None, value: str, record: tuple[str, ...], tuple_type: TupleType) -> None:
        self.record, self.names = record, tuple_type.names
        self.key = None if key is None else RecordPart(key, KEY, tuple_type.kind(KEY))
        self.value: RecordPart | None = None
        self.inside: TupleType | None = None  # the attributes of the JSON object in the value
        if value == "json":
            taken = {*self.record, *((KEY,) if self.key else ())}
            self.inside = TupleType(tuple_type.name, tuple((n, k) for n, k in tuple_type.attributes if n not in taken))
        else:
            self.value = RecordPart(value, VALUE, tuple_type.kind(VALUE))

    def __call__(self, record: Any) -> dict[str, Any]:
        found = {name: getattr(record, name) for name in self.record}
        if self.key is not None:
            found[KEY] = self.key(record.key)
        if self.inside is not None:
            found |= zip(self.inside.names, _object(record.value, self.inside), strict=True)
        elif self.value is not None:
            found[VALUE] = self.value(record.value)
        return found


def _object(value: bytes | None, inside: TupleType) -> tuple[Any, ...]:
    if value is None:
        raise ValueError("the record has no value")
    return json_values(parse_json(value, inside), inside)


@dataclass(frozen=True, slots=True)
class RecordPart:
    """How a complete key or value becomes one attribute."""

    format: str
    name: str
    kind: AttributeType

    def __call__(self, data: bytes | None) -> Any:
        if data is None:
            if not self.kind.optional:
                raise ValueError(f"the record has no {self.name}")
            return None
        if self.format == "json":
            return json_value(json.loads(data, parse_float=Decimal), self.name, self.kind)
        return data if self.format == "raw" else data.decode()
