"""Tables of handlers. A duplicate or missing handler is an error at import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

K = TypeVar("K")
H = TypeVar("H", bound=Callable[..., Any])


class Registry(Generic[K, H]):
    """Handlers by key. `by=id`: by identity, for keys that cannot be compared without running user code."""

    def __init__(self, name: str, by: Callable[[K], Any] | None = None) -> None:
        self.name, self._by = name, by
        self.handlers: dict[Any, H] = {}

    def handles(self, *keys: K) -> Callable[[H], H]:
        """Registers the decorated function for these keys."""

        def add(handler: H) -> H:
            for key in keys:
                if key in self:
                    raise TypeError(f"two handlers for {_shown(key)} in {self.name}")
                self.handlers[self._key(key)] = handler
            return handler

        return add

    def require(self, keys: Iterable[K]) -> None:
        """Fails unless each of these keys has a handler."""
        missing = sorted(_shown(key) for key in keys if key not in self)
        if missing:
            raise TypeError(f"no handler for {', '.join(missing)} in {self.name}")

    def get(self, key: K) -> H | None:
        return self.handlers.get(self._key(key))

    def __getitem__(self, key: K) -> H:
        return self.handlers[self._key(key)]

    def __contains__(self, key: K) -> bool:
        return self._key(key) in self.handlers

    def _key(self, key: K) -> Any:
        return key if self._by is None else self._by(key)


def _shown(key: object) -> str:
    return str(getattr(key, "__qualname__", repr(key)))
