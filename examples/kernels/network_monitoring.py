"""Network monitoring (Schneider et al., Figure 11): suspicious users on many servers.

Entries come from many servers and the order of suspects does not matter, so the streams are unordered; state still
receives the tuples of each key in order.
"""

import thalweg as tw
from thalweg import agg, window


class Entry(tw.Tuple):
    server: str
    user: int
    hits: int


def entry(number: int) -> Entry:
    return Entry(f"server{number * 7 % 13}", number * 11 % 101, number * 31 % 17)


app = tw.App("network_monitoring")
entries = app.source(tw.beacon(entry, count=5_000), Entry, partition_by="server").unordered()
busy = entries.aggregate(
    window.sliding(count=5, by="server"),
    server=agg.any("server"),
    user=agg.last("user"),
    hits=agg.sum("hits"),
)
suspicious = busy.filter(lambda e: e.hits > 30)
users = suspicious.aggregate(window.running(by="user"), user=agg.any("user"), total=agg.sum("hits"))
suspects = users.filter(lambda u: u.total > 100)
suspects.sink(tw.collect(), name="alarms")
