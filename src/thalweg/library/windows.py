"""What a window is: data, from which the logic of an operator is chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window of one kind: by `count`, by `delta` of the attribute `on`, by event time (`size`, `step`) in the
    attribute `on`, or by punctuation. `slides`: whether windows overlap."""

    by: tuple[str, ...]
    slides: bool = False
    count: int | None = None
    slide: int = 1
    delta: Any = None
    on: str = ""
    size: int = 0
    step: int = 0
    punctuations: int | None = None
    clock: bool = field(default=False, compare=False, repr=False)  # sizes were given as timedeltas

    @property
    def timed(self) -> bool:
        return self.size > 0

    @property
    def marked(self) -> bool:
        """Whether it is closed by marks."""
        return self.timed or self.punctuations is not None

    def __str__(self) -> str:
        kind = "sliding" if self.slides else "tumbling"
        if self.count is not None:
            what = f"count {self.count}"
        elif self.delta is not None:
            what = f"delta {self.delta} on {self.on}"
        elif self.timed:
            what = f"event time {self.size} every {self.step} on {self.on}"
        elif self.punctuations is not None:
            what = f"punctuation {self.punctuations}"
        else:
            return "running" + (f" by {', '.join(self.by)}" if self.by else "")
        slide = f", slide {self.slide}" if self.slide != 1 else ""
        return f"{kind}({what}{slide})" + (f" by {', '.join(self.by)}" if self.by else "")
