"""Cases: effects that are not state."""

# mypy: ignore-errors

from __future__ import annotations

import datetime as dt
import logging
import time
import uuid

from tests.analysis.corpus.base import ONE, case


@case("map", "stateless", ONE, "k", "k", "time")
def clock(t):
    return {"k": t.k, "a": int(time.time())}


@case("map", "stateless", ONE, "k", "k", "time")
def today(t):
    return {"k": t.k, "a": dt.date.today().year + dt.datetime.now().hour}


@case("map", "stateless", ONE, "a", "a", "randomness")
def random_name(t):
    return {"k": str(uuid.uuid4()), "a": t.a}


@case("map", "stateless", ONE, "k a", "k a", "io")
def prints(t):
    print("seen", t.k)
    return {"k": t.k, "a": t.a}


LOG = logging.getLogger("corpus")


@case("map", "stateless", ONE, "k a", "k a", "io")
def logs(t):
    LOG.info("seen %s", t.k)
    return {"k": t.k, "a": t.a}


@case("map", "stateless", ONE, "k", "k", "hash_order")
def hash_of_a_text(t):
    return {"k": t.k, "a": hash(t.k)}
