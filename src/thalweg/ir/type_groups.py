"""Groups of attribute types, by the operations that their values support."""

from __future__ import annotations

from thalweg.ir.types import BOOL, BYTES, DATE, DATETIME, DECIMAL, FLOAT, INT, STR

NUMBERS = (INT, FLOAT)
SUMMED = (*NUMBERS, DECIMAL)
COMPARED = (*SUMMED, STR, BYTES, DATETIME, DATE)
ORDERED = (*COMPARED, BOOL)
