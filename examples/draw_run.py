"""`make picture`: run the bargains example on Spark in a pseudo-terminal and draw its live view as docs/run.svg."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_ticks import make_ticks
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

EXAMPLE = [Path(__file__).with_name(name) for name in ("bargains.py", "make_ticks.py")]
PICTURE = Path(__file__).parents[1] / "docs" / "run.svg"
OPTIONS = "run bargains.py --degree 2 --max-tuples-per-epoch 200000"
TICKS, FILES = 2_000_000, 10
LINES, COLUMNS = 50, 104

_CONTROL = re.compile(r"\x1b\[\?\d+[hl]|\x1b\[\d*[AK]|\r|\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in EXAMPLE:
            shutil.copy(file, folder)
        make_ticks(folder / "data" / "ticks", TICKS, FILES)
        lines = shortened(screen(last_epoch(output(folder))))
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        text = Text.from_ansi("\n".join([f"$ thalweg {OPTIONS}", "", *lines]))
        console.print(text, no_wrap=True, overflow="ellipsis")
        PICTURE.write_text(console.export_svg(title="thalweg", theme=DIMMED_MONOKAI, unique_id="run"))


def output(folder: Path) -> str:
    """Everything that the command writes to a terminal."""
    ours, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "thalweg.cli.main", *OPTIONS.split()],
        cwd=folder,
        env=os.environ | {"LINES": str(LINES), "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    written = b""
    try:
        while block := os.read(ours, 65536):
            written += block
    except OSError:  # on Linux: the command has closed the terminal
        pass
    os.close(ours)
    if process.wait() != 0:
        raise SystemExit(written.decode())
    return written.decode()


def last_epoch(written: str) -> str:
    """Up to the live view of the last epoch that had input; the next refresh erases it."""
    return written[: written.rindex("\r\x1b[2K", 0, written.index("end of input"))]


def screen(written: str) -> list[str]:
    """The lines that remain after all cursor movements. Colors stay in the text."""
    lines, row, start = [""], 0, 0
    for control in _CONTROL.finditer(written):
        lines[row] += written[start : control.start()]
        start = control.end()
        if control.group() == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif control.group().endswith("A"):
            row -= 1
        elif control.group().endswith("K"):
            lines[row] = ""
    return [*lines[:row], lines[row] + written[start:]]


def shortened(lines: list[str]) -> list[str]:
    """The plan in short, which ends with an empty line, and the live view."""
    figures = next(i for i, line in enumerate(lines) if "tuples/s" in line)
    return [*lines[: lines.index("") + 1], *lines[figures:]]


if __name__ == "__main__":
    main()
