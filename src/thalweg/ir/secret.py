"""Secrets: values that must be used and never shown."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import NoReturn

from thalweg.errors import hide


class Secret:
    """A value that prints as ***. It is not a str, so a function that uses it is never converted to an expression, and
    neither generated code nor a fingerprint can contain it."""

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value
        hide(value)  # here, so that a worker which unpickles it hides it too

    def reveal(self) -> str:
        """The secret text. Call this where the text is used, inside the function, not at module level."""
        return _revealed(self.__value)

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        return Secret, (self.__value,)

    def __deepcopy__(self, memo: object) -> Secret:
        return self  # it cannot change; what is still the operator's own is not stored with the state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self.__value.encode(), other.__value.encode())

    def __hash__(self) -> NoReturn:
        raise TypeError("a secret cannot be hashed")


class _Revealed(str):
    """The text for a library that requires a str. As a captured value it is as opaque as the secret, and a tuple cannot
    hold it: both accept exactly str. A value computed from it is an ordinary str."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> tuple[Callable[[str], str], tuple[str]]:
        return _revealed, (str(self),)

    def __deepcopy__(self, memo: object) -> str:
        return self


def _revealed(value: str) -> str:
    hide(value)
    return _Revealed(value)


def is_secret(value: object) -> bool:
    """Whether this is a secret, or the text of one that was not changed."""
    return isinstance(value, Secret | _Revealed)
