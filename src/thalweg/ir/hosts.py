"""Hosts: the machines of the target, on which PEs can be placed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine. `speed`: that of one core, relative to the machine on which the profile was measured."""

    name: str
    cores: int
    speed: float = 1.0
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a host needs a name")
        if self.cores < 1:
            raise ValueError(f"the host {self.name} needs at least one core, not {self.cores}")
        if not 0 < self.speed < float("inf"):
            raise ValueError(f"the speed of the host {self.name} must be a positive number, not {self.speed}")
