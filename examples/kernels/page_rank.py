"""PageRank (Schneider et al., Figure 11): a rank vector goes round a loop.

Each block of pages multiplies its rows of the web's matrix with the whole vector; the blocks' results, put together,
are the next vector.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import thalweg as tw

PAGES, BLOCKS, ROUNDS, DAMPING = 60, 6, 10, 0.85
SIZE = PAGES // BLOCKS


class Vector(tw.Tuple):
    block: int
    round: int
    ranks: list[float]


def start(block: int) -> Vector:
    return Vector(block, 0, [1.0 / PAGES] * PAGES)


def multiply(vector: Vector) -> Vector:
    """The new ranks of the block's pages: page p is linked from the pages 3p + 1 and p², which have two links."""
    first = vector.block * SIZE
    ranks = []
    for page in range(first, first + SIZE):
        linked = vector.ranks[(3 * page + 1) % PAGES] + vector.ranks[page * page % PAGES]
        ranks.append((1 - DAMPING) / PAGES + DAMPING * linked / 2)
    return Vector(vector.block, vector.round + 1, ranks)


@dataclass
class Parts:
    ranks: list[float] = field(default_factory=list)


def assemble(part: Vector, state: Parts, submit: Callable[[Vector], None]) -> None:
    state.ranks = state.ranks + part.ranks
    if len(state.ranks) == PAGES:
        for block in range(BLOCKS):
            submit(Vector(block, part.round, state.ranks))
        state.ranks = []


app = tw.App("page_rank")
begin = app.source(tw.beacon(start, count=BLOCKS), Vector)
again = app.feedback(Vector)
vectors = begin.union(again)
mul_add = vectors.map(multiply, Vector)
add = mul_add.custom(assemble, Vector, state=Parts())
add.filter(lambda v: v.round < ROUNDS, name="unfinished").feed(again)
add.filter(lambda v: v.round == ROUNDS and v.block == 0, name="finished").sink(tw.collect(), name="ranks")
