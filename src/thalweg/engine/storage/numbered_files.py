"""Small files with the numbers 0, 1, 2, …, one line of text each; old ones are combined, a thousand in a group file.

A run of months has millions of epochs, and a start that opened a file for each would take minutes. Several processes
read and write such a folder. A group file is complete before its first single file is deleted, so a reader that looks
for the single file first, then for the group file, finds one of them, whenever the other process was killed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path

from thalweg.engine.storage.small_files import create_atomically, write_atomically

GROUP = 1_000


class NumberedFiles:
    """A folder of numbered files. The last two groups stay single files: other processes may be writing them."""

    def __init__(self, folder: Path, group: int = GROUP) -> None:
        self.folder, self.group = folder, group
        self._known: tuple[int, list[bytes]] | None = None  # the group read last

    def file(self, number: int) -> Path:
        """The file that contains this number, if it exists."""
        single = self._single(number)
        return single if single.exists() else self._grouped(number // self.group)

    def _single(self, number: int) -> Path:
        return self.folder / f"{number:010d}.json"

    def _grouped(self, group: int) -> Path:
        return self.folder / f"group-{group:010d}.jsonl"

    def get(self, number: int) -> bytes | None:
        try:
            return self._single(number).read_bytes()
        except FileNotFoundError:
            lines = self._lines(number // self.group)
            return lines[number % self.group] if lines else None

    def _lines(self, group: int) -> list[bytes]:
        known = self._known  # a local copy: another thread may be reading a different group
        if known is None or known[0] != group:
            try:
                known = self._known = group, self._grouped(group).read_bytes().splitlines()
            except FileNotFoundError:
                return []
        return known[1]

    def after(self, first: int) -> Iterator[bytes]:
        """The lines from this number on, up to the first missing one."""
        number = first
        while (found := self.get(number)) is not None:
            yield found
            number += 1
            # If one line came from a group file, the rest of the group is in memory, too.
            known = self._known
            if known is not None and known[0] == (number - 1) // self.group:
                yield from known[1][number % self.group or self.group :]
                number = (known[0] + 1) * self.group

    def last(self) -> bytes | None:
        """The line with the greatest number."""
        numbers = self._singles()
        if numbers:
            return self.get(numbers[-1])
        groups = sorted(self.folder.glob("group-*.jsonl"))
        return groups[-1].read_bytes().splitlines()[-1] if groups else None

    def add(self, number: int, line: bytes) -> None:
        """FileExistsError if the number exists."""
        create_atomically(self._single(number), line)
        if self._grouped(number // self.group).exists():  # this process was suspended while others wrote thousands
            self._single(number).unlink()
            raise FileExistsError(self._single(number))
        self._compact_now_and_then(number)

    def put(self, number: int, line: bytes) -> None:
        """Add or replace a line that may be lost in a power failure."""
        write_atomically(self._single(number), line, durable=False)
        self._compact_now_and_then(number)

    def write_all(self, lines: Iterable[bytes]) -> None:
        """Write lines from number 0 on into a folder that no process uses yet."""
        rest = iter(lines)
        for number in count():
            group = list(islice(rest, self.group))
            if len(group) < self.group:
                break
            write_atomically(self._grouped(number), b"\n".join(group) + b"\n")
        for index, line in enumerate(group):
            write_atomically(self._single(number * self.group + index), line)

    def _compact_now_and_then(self, number: int) -> None:
        if number and number % self.group == 0:
            self.compact()

    def compact(self) -> None:
        """Combine old groups, and finish what a killed process has left unfinished."""
        numbers = self._singles()
        for group in sorted({number // self.group for number in numbers}):
            members = range(group * self.group, (group + 1) * self.group)
            if members.stop + self.group > numbers[-1]:
                return
            if not self._grouped(group).exists():
                lines = [self.get(number) for number in members]
                present = [line for line in lines if line is not None]
                if len(present) < self.group:
                    return  # a number is missing: reading it raises the error
                write_atomically(self._grouped(group), b"\n".join(present) + b"\n", named=True)
            for number in members:
                self._single(number).unlink(missing_ok=True)

    def _singles(self) -> list[int]:
        return sorted(int(f.stem) for f in self.folder.glob("*.json") if f.stem.isdigit())
