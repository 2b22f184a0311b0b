"""The input log: entries survive on disk, and an epoch spreads into contiguous parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.storage.log import Chunk, Epoch, InputLog
from thalweg.errors import CheckpointError


def chunk(source: str, split: int, start: int, stop: int) -> Chunk:
    return Chunk(source, split, f"/in/{split}.parquet", start, stop, 100, 12345, 678)


def test_entries_are_read_back(tmp_path: Path) -> None:
    log = InputLog(tmp_path / "log")
    epochs = [
        Epoch(0, (chunk("a", 0, 0, 3),)),
        Epoch(1, (chunk("a", 0, 3, 4), chunk("é", 1, 0, 2))),
        Epoch(2, (), True),
    ]
    for epoch in epochs:
        log.append(epoch)
    again = InputLog(tmp_path / "log")
    assert list(again) == epochs
    assert again[1].digest() == epochs[1].digest()
    assert again.get(3) is None
    with pytest.raises(CheckpointError, match="epoch 3 is missing"):
        again[3]


def test_a_log_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert list(InputLog(tmp_path / "nothing")) == []


def test_the_digest_follows_the_content() -> None:
    assert Epoch(0, (chunk("a", 0, 0, 3),)).digest() != Epoch(0, (chunk("a", 0, 0, 4),)).digest()


def test_positions_count_by_source_split_and_row() -> None:
    epoch = Epoch(0, (chunk("a", 0, 5, 8), chunk("a", 1, 0, 1), chunk("b", 0, 2, 4)))
    assert [p.position for p in epoch.pieces()] == [0, 3, 4]
    assert epoch.tuples == 6


@given(st.lists(st.integers(0, 9), max_size=5), st.integers(1, 6))
def test_spread_is_contiguous_balanced_and_complete(lengths: list[int], parts: int) -> None:
    epoch = Epoch(0, tuple(chunk("a", i, 10, 10 + n) for i, n in enumerate(lengths)))
    spread = epoch.spread(parts)
    assert len(spread) == parts

    def rows(pieces: object) -> list[tuple[int, int, int]]:
        return [
            (p.position + offset, p.chunk.split, p.chunk.start + offset)
            for p in pieces  # type: ignore[attr-defined]
            for offset in range(p.chunk.stop - p.chunk.start)
        ]

    assert [row for part in spread for row in rows(part)] == rows(epoch.pieces())
    sizes = [len(rows(part)) for part in spread]
    assert max(sizes) - min(sizes) <= 1
