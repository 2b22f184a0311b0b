"""The seed: state from a migration. An engine reads a bucket from here until it has written that bucket itself.

State cannot be put into Spark's state store from outside, so it is stored next to it: one file per channel and bucket
with the parts of all operators, whatever their stage will be, and the event times. It is written once, before the
checkpoint's first start, and never changed, so that an epoch that is run again reads the same state.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from thalweg.engine.storage.small_files import write_atomically
from thalweg.ir.layout import layout
from thalweg.ir.plan import Plan
from thalweg.runtime.describe_bucket import describe_bucket
from thalweg.runtime.state import TIMES, pack_bucket

States = dict[tuple[int, int], dict[int, bytes]]  # (stage, channel) to buckets


@dataclass(frozen=True, slots=True)
class Seed:
    """The folder of the seed; it exists only in a migrated checkpoint."""

    folder: Path

    @property
    def exists(self) -> bool:
        return self._times.exists()

    @property
    def _times(self) -> Path:
        return self.folder / "times.json"

    def _file(self, channel: int, bucket: int) -> Path:
        return self.folder / f"{channel:06d}-{bucket:06d}"

    def write(self, buckets: Mapping[tuple[int, int], Sequence[tuple[str, bytes]]], times: Mapping[str, int]) -> None:
        """Store the operators' parts by channel and bucket, and the event time of each operator that takes marks."""
        for (channel, bucket), parts in buckets.items():
            write_atomically(self._file(channel, bucket), pack_bucket(parts))
        write_atomically(self._times, json.dumps(dict(times)).encode())

    def buckets(self) -> Iterator[tuple[int, int, bytes]]:
        """The channel, number and data of every stored bucket."""
        for file in sorted(self.folder.glob("*-*")) if self.exists else ():
            channel, bucket = map(int, file.name.split("-"))
            yield channel, bucket, file.read_bytes()

    def times(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self._times.read_bytes()) if self.exists else {}
        return found

    def get(self, channel: int, bucket: int, operators: Collection[str]) -> bytes | None:
        """The content of a channel's bucket for a stage with these operators."""
        if bucket == TIMES:
            times = {name: time for name, time in self.times().items() if name in operators}
            return json.dumps(times).encode() if times else None
        try:
            data = self._file(channel, bucket).read_bytes()
        except FileNotFoundError:
            return None
        parts = [(part.operator, part.data) for part in describe_bucket(data) if part.operator in operators]
        return pack_bucket(parts) if parts else None

    def states(self, plan: Plan) -> States:
        """All state by the stages of a plan, with which the local engine starts."""
        if not self.exists:
            return {}
        found: States = {}
        numbers, stages = [TIMES, *range(plan.buckets)], layout(plan).stages
        for stage, channel in ((s, c) for s in range(1, len(stages)) for c in range(plan.channels)):
            operators = stages[stage].pes[0].operators
            held = {bucket: self.get(channel, bucket, operators) for bucket in numbers}
            found[stage, channel] = {bucket: data for bucket, data in held.items() if data is not None}
        return found
