"""Operations on the items of a value: handlers by the type of an item."""

from __future__ import annotations

from typing import get_args

from thalweg.analysis.program.abstract_values import Item
from thalweg.analysis.program.items import (  # noqa: F401  they register handlers
    attributes,
    calls,
    iteration,
    known_attributes,
    subscripts,
)
from thalweg.analysis.program.machine import ATTRIBUTES, CALLS, ITERATION, SUBSCRIPTS

for _registry in (CALLS, ATTRIBUTES, ITERATION, SUBSCRIPTS):
    _registry.require(get_args(Item))
