"""Lines of a text file are those that Python finds, with their numbers."""

from __future__ import annotations

import random

from thalweg.engine.inputs.text_lines import csv_lines, json_lines

PIECES = [b"\n", b"\n", b"\r", b"\r\n", b" ", b"\t", b"\x0b", b"\x0c", b"\x85", b"a", b"bc", b"1,2", b'{"x": 1}', b'"']


def random_texts() -> list[bytes]:
    chance = random.Random(7)
    return [b"".join(chance.choices(PIECES, k=chance.randrange(12))) for _ in range(2000)]


def test_lines_of_csv() -> None:
    for data in random_texts():
        lines = csv_lines(data)
        expected = [(number, line) for number, line in enumerate(data.splitlines(), 1) if line]
        assert list(zip(lines.numbers.tolist(), lines.bare(range(len(lines))), strict=True)) == expected, data


def test_lines_of_json() -> None:
    for data in random_texts():
        lines = json_lines(data)
        expected = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
        assert list(zip(lines.numbers.tolist(), lines.bare(range(len(lines))), strict=True)) == [
            (number, line.rstrip(b"\r")) for number, line in expected
        ], data
        assert bytes(lines.joined()).split(b"\n")[: len(lines)] == [line for _, line in expected]


def test_joined_lines_are_one_text() -> None:
    lines = json_lines(b"one\ntwo\n\nthree\nfour")
    assert bytes(lines.joined()) == b"one\ntwo\nthree\nfour"
    assert bytes(lines.span(1, 3).joined()) == b"two\nthree\n"
    assert bytes(lines.span(1).take(lines.numbers[:0]).joined()) == b""
    assert lines.numbers.tolist() == [1, 2, 4, 5]
