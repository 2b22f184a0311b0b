"""Truth tests of values."""

from __future__ import annotations

import ast
import types

from thalweg.analysis.program import live_objects
from thalweg.analysis.program.abstract_values import BOOL, Bound, Known, Value, classes_of, just, literal
from thalweg.analysis.program.call_frames import Args
from thalweg.analysis.program.machine import Machine
from thalweg.analysis.program.python_types import is_built_in


def truth(m: Machine, value: Value, node: ast.AST) -> Value:
    """The truth of a value. Testing objects runs their `__bool__` or `__len__`."""
    one = literal(value)
    if one is not None:
        return just(Known(bool(one.value)))
    for item in value:
        m.look_at(item, node)
        for cls in classes_of(item):
            for name in ("__bool__", "__len__"):
                method = live_objects.class_attribute(cls, name)
                if isinstance(method, types.FunctionType):
                    m.call(just(Bound(method, item)), Args(), node)
            native = not live_objects.is_python_class(cls) and not is_built_in(cls)
            if native and not isinstance(item, Known):
                m.unknown("tests the truth of a value that cannot be analyzed", node, just(item))
    return BOOL
