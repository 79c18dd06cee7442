"""Which thread uses which workspace: each is lent to one at a time, and kept for the next match."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from equipoise.arrays import Floats
from equipoise.rating.workspaces.workspace import LARGEST, Workspace

if TYPE_CHECKING:
    from equipoise.rating.base_system import System
    from equipoise.rating.rated_system import RatedSystem

#: Most shapes of matches whose workspaces a system keeps, and most workspaces of a shape.
_SHAPES, _EACH = 64, 8

#: Most systems that have workspaces. A program has few; one that makes thousands starts anew.
_SYSTEMS = 32


class Workspaces:
    """The workspaces of one system, each lent to one thread at a time.

    usable : whether the players and the match are all that the system needs
    """

    __slots__ = ("_free", "_shared", "_system", "usable")

    def __init__(self, system: System, shared: dict[str, Floats] | None = None) -> None:
        """Begin without workspaces.

        shared : `State.shared` of a pool, to which kernels then write; a pool serves one thread
        """
        self._system, self._shared = system, shared
        self.usable = system.fits_workspaces and (shared is not None or not _learns(system))
        self._free: dict[tuple[int, ...], list[Workspace]] = {}

    @property
    def system(self) -> System:
        """The system."""
        return self._system

    def take(self, sizes: tuple[int, ...]) -> Workspace:
        """Return a workspace that nobody else uses."""
        try:
            # One operation, so that no other thread takes the same.
            return self._free[sizes].pop()
        except (KeyError, IndexError):
            return Workspace(cast("RatedSystem", self._system), sizes, self._shared)

    def give_back(self, sizes: tuple[int, ...], workspace: Workspace) -> None:
        """Keep a workspace for later matches. One of a match that failed is not given back."""
        free = self._free.get(sizes)
        if free is None:
            if len(workspace.state.table) > LARGEST:
                return
            if len(self._free) >= _SHAPES:
                self._free.clear()
            free = self._free.setdefault(sizes, [])
        if len(free) < _EACH:
            free.append(workspace)


#: Workspaces by the identity of their system, which they keep alive.
_known: dict[int, Workspaces] = {}


def workspaces_of(system: System) -> Workspaces:
    """Return the workspaces of a system."""
    # Equal systems would do as well, but comparing parameters takes longer than rating.
    found = _known.get(id(system))
    if found is None or found.system is not system:
        if len(_known) >= _SYSTEMS:
            _known.clear()
        found = _known[id(system)] = Workspaces(system)
    return found


def _learns(system: System) -> bool:
    """Return whether matches change numbers of the pool, which then have to be given."""
    return system.changes_entry or system.learns_advantage
