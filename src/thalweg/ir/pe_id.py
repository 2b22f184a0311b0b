"""The identity of a PE in a plan."""

from __future__ import annotations

from typing import NamedTuple


class PeId(NamedTuple):
    """The stage of a PE, and its number within the stage. Shown as `1.0`: the first PE of stage 1."""

    stage: int
    number: int

    def __str__(self) -> str:
        return f"{self.stage}.{self.number}"

    @staticmethod
    def parse(text: str) -> PeId:
        stage, number = text.split(".")
        return PeId(int(stage), int(number))
