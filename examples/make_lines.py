"""Seeded lines for the word count: python examples/make_lines.py [FOLDER] [--lines N] [--files N]"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "lines"
LINES_PER_CHAPTER = 40
LINES, FILES = 10_000, 4


def vocabulary(chance: random.Random, size: int = 300) -> list[str]:
    """Short words of simple syllables."""
    syllables = [a + b for a in "bdfklmnprst" for b in "aeiou"]
    return ["".join(chance.choices(syllables, k=chance.choice((1, 2, 2, 3)))) for _ in range(size)]


def make_text(lines: int, seed: int) -> list[str]:
    """Few words are said often, most of them rarely; the last chapter has no end."""
    chance = random.Random(seed)
    words = vocabulary(chance)
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    text = []
    for number in range(1, lines + 1):
        if number % LINES_PER_CHAPTER == 0 and number < lines:
            text.append("* * *")
        else:
            said = chance.choices(words, weights, k=chance.randint(3, 9))
            text.append(f"{said[0].capitalize()} {' '.join(said[1:])}.")
    return text


def make_lines(folder: Path, lines: int = LINES, files: int = FILES, seed: int = 0) -> None:
    """Write the files whole: a source must never see half a file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = make_text(lines, seed)
    for index in range(files):
        part = text[lines * index // files : lines * (index + 1) // files]
        temporary = folder / f".lines-{index:03d}"
        temporary.write_text("".join(json.dumps({"text": line}) + "\n" for line in part))
        os.replace(temporary, folder / f"lines-{index:03d}.jsonl")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--files", type=int, default=FILES)
    options = parser.parse_args()
    make_lines(options.folder, options.lines, options.files)
    print(f"{options.lines:,} lines in {options.files} files of {options.folder}")
