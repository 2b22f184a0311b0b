"""`make picture` carries out the cursor movements of a live view, and README.md shows the picture it draws."""

from __future__ import annotations

from pathlib import Path

from draw_run import PICTURE, last_epoch, screen, shortened

ERASED = "\r\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K"  # how rich erases a live view of three lines
VIEWS = ("epoch 0  5 tuples/s\r\n\r\nrow", "epoch 1  7 tuples/s\r\n\r\nrow", "epoch 2  end of input\r\n\r\nrow")
SUMMARY = "application a\r\n  stage 0: x\r\n\r\nstarting Spark\r\n"


def test_each_view_replaces_the_one_before() -> None:
    assert screen(SUMMARY + ERASED.join(VIEWS))[-3:] == ["epoch 2  end of input", "", "row"]


def test_the_picture_is_of_the_last_epoch_with_input() -> None:
    lines = screen(last_epoch(SUMMARY + ERASED.join(VIEWS)))
    assert shortened(lines) == ["application a", "  stage 0: x", "", "epoch 1  7 tuples/s", "", "row"]


def test_the_readme_shows_it() -> None:
    root = Path(__file__).parents[1]
    assert f"]({PICTURE.relative_to(root)})" in (root / "README.md").read_text()
    assert PICTURE.stat().st_size < 60_000
