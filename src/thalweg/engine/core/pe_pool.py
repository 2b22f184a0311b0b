"""The PEs of one worker, created when first needed and kept until the worker no longer runs them."""

from __future__ import annotations

from thalweg.ir.pe_id import PeId
from thalweg.runtime.pe import PE
from thalweg.runtime.pe_program import Program
from thalweg.runtime.resources import Resources


class PEPool:
    """One PE per program and channel. All PEs of a worker share the resources that operators create in `setup`."""

    def __init__(self) -> None:
        self.resources = Resources()
        self._programs: dict[PeId, Program] = {}
        self._pes: dict[tuple[PeId, int], PE] = {}

    def of(self, program: Program, channel: int) -> PE:
        """The PE of this program. An existing one with different code, or from a different start, is closed first."""
        served = self._programs.setdefault(program.id, program)
        if (served.start, served.fingerprint) != (program.start, program.fingerprint):
            self.close(program.id)
            self._programs[program.id] = program
        place = program.id, channel
        if place not in self._pes:
            self._pes[place] = PE(self._programs[program.id], channel, self.resources)
        return self._pes[place]

    def close(self, pe: PeId | None = None) -> None:
        """Close a PE on all its channels, or all PEs, and release what their operators created in `setup`."""
        for place in [place for place in self._pes if pe is None or place[0] == pe]:
            self._programs.pop(place[0], None)
            self._pes.pop(place).close()
