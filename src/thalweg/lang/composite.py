"""`@tw.composite`: parameterized sub-graphs.

A composite is a function from streams and parameters to streams. The operators that it creates are ordinary ones; only
their names differ: they begin with the name of the call, so that two calls, and two applications, have separate states.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

from thalweg.errors import GraphError, Where, shown
from thalweg.ir.arguments import bound_arguments, checked
from thalweg.ir.user_calls import CompositeCall, call_place, current_call, prefixed, user_frame
from thalweg.lang.app import App, Stream
from thalweg.lang.operator_call import word
from thalweg.lang.source_place import assigned_name

P = ParamSpec("P")
R = TypeVar("R")


@checked
def composite(function: Callable[P, R]) -> Composite[P, R]:
    """Make a composite of a function that takes streams (or the application) and returns a stream, several, or none.

    The operators created inside are named after the variable to which the call's result is assigned (`hot.mean`),
    otherwise after the function; names of nested calls nest (`hot.smooth.mean`).
    """
    return Composite(function)


class Composite(Generic[P, R]):
    """A function whose operators are named after its call."""

    def __init__(self, function: Callable[P, R], name: str | None = None) -> None:
        if not callable(function):
            raise GraphError(
                "not a composite", where=call_place(user_frame()), expected="a function", found=shown(function)
            )
        functools.update_wrapper(self, function)
        self._function, self._name = function, name

    def named(self, name: str) -> Composite[P, R]:
        """The same composite with a name for its next call: `anomaly.named("hot")(readings)`."""
        return Composite(self._function, word(name, "composite", call_place(user_frame())))

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        frame = user_frame()
        where = call_place(frame)
        bound_arguments(self.__name__, inspect.signature(self._function), arguments, options, {})
        app = _application([*arguments, *options.values()], self.__name__, where)
        wanted = self._name or _derived(self.__name__, assigned_name(frame))
        call = CompositeCall(app._call_names.find(prefixed(wanted), app._calls), where)
        app._calls.add(call.prefix)
        token = current_call.set(call)
        try:
            result = self._function(*arguments, **options)
        finally:
            current_call.reset(token)
        if result is not None and not all(isinstance(stream, Stream) for stream in _parts(result)):
            raise GraphError(
                f"the composite {self.__name__} does not return streams",
                where=where,
                expected="a stream, a tuple or a dict of streams, or None",
                found=shown(result),
            )
        return result

    __name__: str


def _application(arguments: list[object], name: str, where: Where) -> App:
    for argument in arguments:
        for part in _parts(argument):
            if isinstance(part, App):
                return part
            if isinstance(part, Stream):
                return part.app
    raise GraphError(f"the composite {name} gets no stream", where=where, expected="a stream or the application")


def _parts(value: Any) -> Iterator[Any]:
    """The value itself, or the elements of a tuple, a list or a dict."""
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, tuple | list):
        yield from value
    else:
        yield value


def _derived(function: str, assigned: tuple[str, bool] | None) -> str:
    if assigned is None:
        return function
    return assigned[0] if assigned[1] else f"{assigned[0]}.{function}"
