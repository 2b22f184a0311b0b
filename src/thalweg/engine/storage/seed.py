"""The seed: state that a migration brought. An engine takes a bucket from here until it has written that bucket itself.

State cannot be put into Spark's state store from outside, so it lies beside it: one file per channel and bucket with
the parts of all operators, whatever stage they will stand in, and the event times. Written once, before the
checkpoint's first start, and never changed: an epoch that is run again finds the same.
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
    """The folder; it is there only in a checkpoint that was migrated."""

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
        """The operators' parts by channel and bucket, and the event time at each operator that takes marks."""
        for (channel, bucket), parts in buckets.items():
            write_atomically(self._file(channel, bucket), pack_bucket(parts))
        write_atomically(self._times, json.dumps(dict(times)).encode())

    def buckets(self) -> Iterator[tuple[int, int, bytes]]:
        """Channel, bucket and data of all that is there."""
        for file in sorted(self.folder.glob("*-*")) if self.exists else ():
            channel, bucket = map(int, file.name.split("-"))
            yield channel, bucket, file.read_bytes()

    def times(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self._times.read_bytes()) if self.exists else {}
        return found

    def get(self, channel: int, bucket: int, operators: Collection[str]) -> bytes | None:
        """What a stage with these operators finds in a bucket of a channel."""
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
        """All of it, by the stages of a plan: what the local engine starts with."""
        if not self.exists:
            return {}
        found: States = {}
        numbers, stages = [TIMES, *range(plan.buckets)], layout(plan).stages
        for stage, channel in ((s, c) for s in range(1, len(stages)) for c in range(plan.channels)):
            operators = stages[stage].pes[0].operators
            held = {bucket: self.get(channel, bucket, operators) for bucket in numbers}
            found[stage, channel] = {bucket: data for bucket, data in held.items() if data is not None}
        return found
