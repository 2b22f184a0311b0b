"""What operators create in `setup` and release in `close`; an exception of theirs is reported with the operator."""

from __future__ import annotations

import traceback
from typing import Any

from thalweg.errors import ResourceError, Where, redacted, summary
from thalweg.ir.logic import Logic
from thalweg.ir.user_tracebacks import raised_in


def set_up(logic: Logic, operator: str, where: Where) -> Any:
    before = _attributes(logic)
    try:
        resource = logic.setup()
    except ResourceError:  # of an operator inside a loop
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failed("setup", operator, where, error) from error
    assigned = [n for n, value in _attributes(logic).items() if value is not before.get(n, before)]
    if assigned:
        raise ResourceError(
            f"`setup` of {operator} assigns {', '.join(assigned)}",
            operator=operator,
            where=where,
            expected="a `setup` that returns what all keys share: its result is `self.resource`",
            found=f"self.{assigned[0]} = …, which the objects of the keys do not have",
            hint="return it; return a dict if it is several objects; `__init__` sets the state of a key",
        )
    return resource


def _attributes(logic: Logic) -> dict[str, Any]:
    return logic.__dict__ | ({"resource": logic.resource} if hasattr(logic, "resource") else {})


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
