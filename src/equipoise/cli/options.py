"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from equipoise.analysis.requests.typed import Typed, typed
from equipoise.cli.declaring import option
from equipoise.errors import InvalidParameterError
from equipoise.wording import how_to_install

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from equipoise.analysis.files.systems import Settings
    from equipoise.rating.system import RatingSystem

#: A request with a history.
_Request = TypeVar("_Request", bound=Any)

Database: TypeAlias = Annotated[
    str,
    option(
        "sqlite:///equipoise.db",
        "The database: sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME. The "
        "environment variable EQUIPOISE_DATABASE also sets it.",
        "URL",
        envvar="EQUIPOISE_DATABASE",
        show_envvar=False,
    ),
]
Json: TypeAlias = Annotated[
    bool, option(False, "Print the answer and any errors as JSON.", name="--json")
]
DryRun: TypeAlias = Annotated[
    bool,
    option(
        False,
        "Say what would be read, what is odd in it and what would refuse it, as `equipoise "
        "inspect` does. Nothing else is done.",
        name="--dry-run",
    ),
]
_Parameters: TypeAlias = Annotated[
    str | None,
    Typed(
        "Read the system, its [parameters] and [statistics] from a file. --set overrides it.",
        "FILE.toml",
    ),
]


@dataclass(frozen=True, kw_only=True)
class System:
    """Which rating system, with which parameters."""

    system: str | None = typed(
        None,
        "Rating system; `equipoise systems` lists them. [default: elo-mmr]",
        completes="systems",
    )
    set_: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system. Repeatable. `equipoise systems SYSTEM` lists them.",
        "NAME=VALUE",
        completes="parameters",
    )
    parameters: _Parameters = None

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> RatingSystem | None:
        """Return the system that was chosen; None if neither option nor file names one."""
        from equipoise.analysis.files.systems import chosen_system

        return chosen_system(self.system, settings, self.set_)


@dataclass(frozen=True, kw_only=True)
class Systems:
    """Which rating systems, under which labels, with which parameters."""

    system: tuple[str, ...] = typed(
        (),
        "A rating system, optionally with a label. Repeatable. [default: elo-mmr]",
        "[LABEL=]NAME",
        completes="systems",
    )
    set_: tuple[str, ...] = typed(
        (),
        "Set a parameter of the system with this label. Repeatable. The default label of a system "
        "is its name.",
        "[LABEL.]NAME=VALUE",
        completes="labelled_parameters",
    )
    parameters: _Parameters = None

    def settings(self) -> Settings:
        """Return the settings of the parameter file. Raises : NotFoundError, InvalidDataError."""
        return _settings(self.parameters)

    def chosen(self, settings: Settings) -> dict[str, RatingSystem]:
        """Return the systems by label."""
        from equipoise.analysis.files.systems import chosen_systems

        return chosen_systems(self.system, settings, self.set_)

    def chosen_or_every(self, settings: Settings) -> tuple[dict[str, RatingSystem], frozenset[str]]:
        """Return the systems by label, and the labels of those that the name `all` stands for."""
        from equipoise.analysis.files.systems import chosen_systems, with_every

        named, added = with_every(self.system)
        return chosen_systems(named, settings, self.set_), added


def _settings(path: str | None) -> Settings:
    from equipoise.analysis.files.systems import read_settings

    return read_settings(path)


def with_weights(history: _Request, settings: Settings) -> _Request:
    """Return a request with the weights of statistics of a parameter file.

    `--stat` overrides the file, and the file the settings of the project.
    """
    weights = [settings.statistics, history.statistics]
    if "--stat" in history.set_by_project:
        weights.reverse()
    found: _Request = replace(history, statistics={**weights[0], **weights[1]})
    return found


def weighed(request: _Request, settings: Settings) -> _Request:
    """Return a request whose history has these weights."""
    history = with_weights(request.history, settings)
    found: _Request = replace(request, history=history)
    return found


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Other machines that do the work."""

    cluster: str | None = typed(
        None,
        "Let the workers of a Dask scheduler do the work: tls://HOST:PORT, with the certificates "
        "of Dask's configuration, or tcp://127.0.0.1:PORT for one on this machine. Results are "
        "the same. Needs the extra cluster.",
        "ADDRESS",
    )

    @contextmanager
    def executor(self, workers: int | None = None) -> Iterator[Executor | None]:
        """Connect to the cluster; without one, the work stays on this machine: None.

        workers : value of `--workers`, which is for this machine
        Raises : InvalidParameterError, UnavailableError, ConflictError
        """
        if self.cluster is None:
            yield None
            return
        if workers is not None:
            raise InvalidParameterError("--workers cannot be combined with --cluster")
        if find_spec("distributed") is None:
            raise InvalidParameterError(
                f"a cluster needs the library distributed: {how_to_install('cluster')}"
            )
        from equipoise.parallel.cluster import connect

        # All that matters is raised.
        for name in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        with connect(self.cluster) as executor:
            yield executor
