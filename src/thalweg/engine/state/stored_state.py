"""The state in a checkpoint after its last committed epoch, in a form that does not depend on the engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from thalweg.engine.storage.checkpoint import Checkpoint, LocalState
from thalweg.engine.storage.manifest import Manifest
from thalweg.errors import CheckpointError
from thalweg.runtime.describe_bucket import OperatorPart, describe_bucket
from thalweg.runtime.state import TIMES

Bucket = tuple[int, int, bytes]  # channel, bucket, data


@dataclass(frozen=True, slots=True)
class StoredPart:
    """An operator's part of a bucket, with its place."""

    channel: int
    bucket: int
    part: OperatorPart


@dataclass(frozen=True, slots=True)
class StoredState:
    """All state, and the number of epochs that produced it."""

    epochs: int
    parts: tuple[StoredPart, ...]
    times: Mapping[str, Mapping[int, int]]  # the event time of each operator that takes marks, by channel

    def of(self, operator: str) -> tuple[StoredPart, ...]:
        return tuple(stored for stored in self.parts if stored.part.operator == operator)


def stored_state(checkpoint: Checkpoint, manifest: Manifest) -> StoredState:
    """The state that the engine has written or, where it has not written any yet, the state from a migration."""
    if manifest.engine == "spark":
        from thalweg.engine.spark.read_state import committed_epochs, read_buckets

        epochs, written = committed_epochs(checkpoint, manifest), list(read_buckets(checkpoint, manifest.labels))
    else:
        epochs, written = _local(checkpoint, manifest)
    times = {name: dict.fromkeys(range(manifest.degrees[name]), t) for name, t in checkpoint.seed.times().items()}
    return stored_in(written, epochs, _parts(checkpoint.seed.buckets()), times)


def stored_in(
    written: Sequence[Bucket],
    epochs: int = 0,
    brought: Mapping[tuple[int, int, str], OperatorPart] = MappingProxyType({}),
    times: Mapping[str, Mapping[int, int]] = MappingProxyType({}),
) -> StoredState:
    """A bucket has all operators of its stage, so an operator's written state replaces its state from a migration."""
    found_times = {name: dict(by_channel) for name, by_channel in times.items()}
    for channel, bucket, data in written:
        for name, time in json.loads(data).items() if bucket == TIMES else ():
            found_times.setdefault(name, {})[channel] = time
    parts = {**brought, **_parts(written)}
    places = sorted(parts)
    return StoredState(epochs, tuple(StoredPart(c, b, parts[c, b, name]) for c, b, name in places), found_times)


def _parts(buckets: Iterable[Bucket]) -> dict[tuple[int, int, str], OperatorPart]:
    return {
        (channel, bucket, part.operator): part
        for channel, bucket, data in buckets
        if bucket != TIMES
        for part in describe_bucket(data)
    }


def _local(checkpoint: Checkpoint, manifest: Manifest) -> tuple[int, list[Bucket]]:
    """Retries, because a running engine replaces its snapshot in every epoch."""
    for _ in range(20):
        try:
            found = LocalState(checkpoint).load()
        except FileNotFoundError:
            continue
        epochs, state = found or (manifest.first_epoch, {})
        return epochs, [(channel, b, data) for (_, channel), held in state.items() for b, data in held.items()]
    raise CheckpointError(f"the state in {checkpoint.folder} changes faster than it can be read", hint="try again")
