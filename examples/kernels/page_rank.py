"""PageRank (Schneider et al., Figure 11): ranks go round a loop, each time along the links of their pages."""

import thalweg as tw
from thalweg import agg, window

PAGES, ROUNDS, DAMPING = 40, 12, 0.85


class Rank(tw.Tuple):
    page: int
    round: int
    rank: float


def start(page: int) -> Rank:
    return Rank(page, 0, 1.0 / PAGES)


def shares(rank: Rank) -> list[Rank]:
    """A page's rank, divided among the pages it links to."""
    links = (rank.page * 3 % PAGES, (rank.page * 7 + 1) % PAGES)
    return [Rank(link, rank.round + 1, DAMPING * rank.rank / len(links)) for link in links]


app = tw.App("page_rank")
begin = app.source(tw.beacon(start, count=PAGES), Rank)
again = app.feedback(Rank)
ranks = begin.union(again)
mul_add = ranks.flat_map(shares, Rank)
add = mul_add.aggregate(
    window.tumbling(count=2, by=["page", "round"]),
    page=agg.any("page"),
    round=agg.any("round"),
    rank=agg.sum("rank") + (1 - DAMPING) / PAGES,
)
add.filter(lambda r: r.round < ROUNDS, name="unfinished").feed(again)
add.filter(lambda r: r.round == ROUNDS, name="finished").sink(tw.collect(), name="ranks")
