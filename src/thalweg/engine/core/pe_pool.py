"""The PEs of one worker, made when they are first needed and kept until the worker no longer serves them."""

from __future__ import annotations

from thalweg.ir.pe_id import PeId
from thalweg.runtime.pe import PE
from thalweg.runtime.program import Program
from thalweg.runtime.resources import Resources


class LivingPEs:
    """One PE per program and channel. All of a worker share what their operators made in `setup`."""

    def __init__(self) -> None:
        self.resources = Resources()
        self._programs: dict[PeId, Program] = {}
        self._pes: dict[tuple[PeId, int], PE] = {}

    def of(self, program: Program, channel: int) -> PE:
        """The PE of this program. One at its place that has another text, or is of another start, is closed first."""
        served = self._programs.setdefault(program.id, program)
        if (served.start, served.fingerprint) != (program.start, program.fingerprint):
            self.close(program.id)
            self._programs[program.id] = program
        place = program.id, channel
        if place not in self._pes:
            self._pes[place] = PE(self._programs[program.id], channel, self.resources)
        return self._pes[place]

    def close(self, pe: PeId | None = None) -> None:
        """End a PE on all its channels, or all PEs, and give back what their operators made in `setup`."""
        for place in [place for place in self._pes if pe is None or place[0] == pe]:
            self._programs.pop(place[0], None)
            self._pes.pop(place).close()
