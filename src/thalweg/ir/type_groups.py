"""Groups of attribute types, by what can be done with their values."""

from __future__ import annotations

from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR

NUMBERS = (INT, FLOAT)
SUMMED = (*NUMBERS, DECIMAL)
COMPARED = (*SUMMED, STR, BYTES, DATETIME, DATE)
ORDERED = (*COMPARED, BOOL)
