"""Checks of an operator class of the user: its methods take the arguments with which they are called."""

from __future__ import annotations

from thalweg.errors import GraphError, Where, described
from thalweg.ir.arguments import called, takes
from thalweg.ir.logic import Logic

_ARGUMENTS = {
    "process": ["tuple", "port"],
    "on_mark": ["time"],
    "at_end": [],
    "setup": [],
    "close": ["resource"],
    "upgrade": ["attributes", "version"],
}


def check_methods(code: Logic, where: Where) -> None:
    cls = type(code)
    if cls.process is Logic.process:
        methods = [name for name, value in vars(cls).items() if callable(value) and not name.startswith("__")]
        raise GraphError(
            f"{cls.__qualname__} has no method process",
            where=where,
            expected="def process(self, t, port): …, which is called for each tuple",
            found=f"a class with {', '.join(methods) or 'no methods'}",
        )
    for name, arguments in _ARGUMENTS.items():
        method = getattr(code, name)
        if not takes(method, arguments):
            raise GraphError(
                f"{cls.__qualname__}.{name} takes other arguments",
                where=where,
                expected=f"def {name}({', '.join(['self', *arguments])})",
                found=called(method),
            )
    if type(cls.version) is not int or cls.version < 1:
        raise GraphError(
            f"{cls.__qualname__}: bad version", where=where, expected="an int, 1 or more", found=described(cls.version)
        )
