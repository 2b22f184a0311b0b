"""The lines of a text file as one Arrow array, which shares the memory of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from thalweg.runtime.columns import Array

BOM = b"\xef\xbb\xbf"
_SPACES = np.zeros(256, np.bool_)
_SPACES[list(b" \t\n\r\x0b\x0c")] = True


@dataclass(frozen=True, slots=True)
class TextLines:
    """Lines with their ends, so that all of them are one text, and their numbers in the file."""

    texts: pa.LargeBinaryArray
    numbers: Array  # counted from 1

    def __len__(self) -> int:
        return len(self.texts)

    def bare(self, rows: Sequence[int]) -> list[bytes]:
        """Lines without their ends."""
        return [line.rstrip(b"\r\n") for line in self.texts.take(pa.array(rows, pa.int64())).to_pylist()]

    def shown(self, rows: Sequence[int]) -> list[str]:
        return [line.removeprefix(BOM).decode(errors="replace") for line in self.bare(rows)]

    def place(self, row: int) -> str:
        return f"line {self.numbers[row]}: "

    def take(self, rows: Array) -> TextLines:
        """Some lines, in ascending order: only the last one may have no end."""
        return TextLines(self.texts.take(pa.array(rows)), self.numbers[rows])

    def span(self, start: int, stop: int | None = None) -> TextLines:
        return TextLines(self.texts[start:stop], self.numbers[start:stop])

    def joined(self) -> memoryview:
        """All lines as one text."""
        if not len(self.texts):
            return memoryview(b"")
        _, offsets, content = self.texts.buffers()
        bounds = np.frombuffer(offsets, np.int64)[self.texts.offset :]
        return memoryview(content)[int(bounds[0]) : int(bounds[len(self.texts)])]


def csv_lines(data: bytes) -> TextLines:
    """As in Arrow, \\n, \\r and \\r\\n end a line, and empty lines are ignored."""
    content = np.frombuffer(data, np.uint8)
    ends = content == ord("\n")
    if b"\r" in data:
        alone = content == ord("\r")
        alone[:-1] &= ~ends[1:]
        ends |= alone
    offsets = _offsets(data, ends)
    return _lines(data, offsets, np.diff(offsets) <= 2, lambda line: not line.strip(b"\r\n"))


def json_lines(data: bytes) -> TextLines:
    """Lines of whitespace are ignored."""
    content = np.frombuffer(data, np.uint8)
    offsets = _offsets(data, content == ord("\n"))
    return _lines(data, offsets, _SPACES[content[offsets[:-1]]], lambda line: not line.strip())


def _offsets(data: bytes, ends: Array) -> Array:
    """The start of each line, and the end of the last one."""
    found = np.concatenate(([0], np.flatnonzero(ends) + 1))
    return found if found[-1] == len(data) else np.append(found, len(data))


def _lines(data: bytes, offsets: Array, maybe_ignored: Array, is_ignored: Callable[[bytes], bool]) -> TextLines:
    count = len(offsets) - 1
    buffers = [None, pa.py_buffer(offsets.astype(np.int64, copy=False)), pa.py_buffer(data)]
    lines = TextLines(pa.LargeBinaryArray.from_buffers(pa.large_binary(), count, buffers), np.arange(1, count + 1))
    unsure = np.flatnonzero(maybe_ignored).tolist()
    ignored = [i for i in unsure if is_ignored(data[offsets[i] : offsets[i + 1]])]
    return lines.take(np.delete(np.arange(count), ignored)) if ignored else lines
