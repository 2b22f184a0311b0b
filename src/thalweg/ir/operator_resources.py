"""What operators create in `setup` and release in `close`; an exception of theirs is reported with the operator."""

from __future__ import annotations

import traceback
from typing import Any

from thalweg.errors import ResourceError, Where, redacted, summary
from thalweg.ir.logic import Logic
from thalweg.ir.user_tracebacks import raised_in


def set_up(logic: Logic, operator: str, where: Where) -> Any:
    try:
        return logic.setup()
    except ResourceError:  # of an operator inside a loop
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failed("setup", operator, where, error) from error


def close(logic: Logic, resource: Any, operator: str, where: Where) -> None:
    try:
        logic.close(resource)
    except ResourceError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failed("close", operator, where, error) from error


def _failed(method: str, operator: str, where: Where, error: BaseException) -> ResourceError:
    made = ResourceError(
        f"`{method}` of {operator} failed: {summary(error)}", operator=operator, where=where, at=raised_in(error)
    )
    made.add_note(redacted("where it was raised:\n" + "".join(traceback.format_exception(error))))
    return made
