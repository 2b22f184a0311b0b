"""The consoles that the commands print to."""

from __future__ import annotations

from rich.console import Console

out, err = Console(highlight=False, soft_wrap=True), Console(stderr=True, highlight=False, soft_wrap=True)
