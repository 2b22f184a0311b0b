"""The code that runs when a message is logged: handlers, filters and formatters may be user code."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from typing import Any

from thalweg.ir.user_tracebacks import is_foreign


def users_code(logger: logging.Logger) -> str | None:
    """The name of user code that a logger calls; None if it calls only code of Python or of an installed package, which
    cannot know what the application reads."""
    called = [logging.getLogRecordFactory(), *_called(logger)]
    return next((getattr(one, "__name__", type(one).__name__) for one in called if _is_users(one)), None)


def _called(logger: logging.Logger) -> Iterator[object]:
    yield from logger.filters
    above: logging.Logger | None = logger
    while above is not None:
        for handler in above.handlers:
            yield handler
            for held in vars(handler).values():  # filters, a formatter, a stream, the handler that it passes records to
                yield from held if isinstance(held, list) else (held,)
        above = above.parent if above.propagate else None


def _is_users(one: Any) -> bool:
    code = getattr(one, "__code__", None)
    if code is not None:
        return not is_foreign(code.co_filename)
    classes = (one if isinstance(one, type) else type(one)).__mro__
    files = [getattr(sys.modules.get(cls.__module__), "__file__", None) for cls in classes]
    return any(not is_foreign(file) for file in files if file is not None)
