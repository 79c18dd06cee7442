"""From what a backtest answered to the page that shows it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from equipoise.data.files import check_place
from equipoise.data.history import History
from equipoise.errors import require
from equipoise.messages.history import HistoryMessage
from equipoise.pages.backtest import BacktestReport
from equipoise.rating.registry import make_system, parameters_of
from equipoise.rating.system import RatingSystem
from equipoise.workflows.reading import history_message
from equipoise.workflows.systems_choice import plain_parameters

if TYPE_CHECKING:
    from equipoise.workflows.backtest import BacktestAnswer

#: Seconds since 1970 below this (March 1973) are rather numbers of rounds.
_MOMENTS = 100_000_000


def check_page(path: str) -> None:
    """Refuse a path at which no page can be written. Raises : InvalidParameterError."""
    require(path.lower().endswith(".html"), "--report", "a file that ends in .html", path)
    check_place(path)


def report_of(answer: BacktestAnswer, source: object, command: str) -> BacktestReport:
    """Return what the page is made of; of paths only the names of files go into it.

    Neither a clock nor the seconds that it took: the same history gives the same page.
    source : path, or a stream; command : what made the page
    """
    return BacktestReport(
        found=answer.found,
        parameters={label: plain_parameters(one) for label, one in answer.systems.items()},
        chosen={label: _chosen(one) for label, one in answer.systems.items()},
        history=_without_folders(history_message(answer.history, answer.reading)),
        source=Path(source).name if isinstance(source, str) else "standard input",
        period=period(answer.history),
        seed=answer.seed,
        command=command,
        version=version("equipoise"),
    )


def period(history: History) -> tuple[str, str] | None:
    """Return the first and the last time of a history as text; None where it has none."""
    if history.order is not None and history.matches:
        return str(history.order[0]), str(history.order[-1])
    if history.time is None or not history.matches:
        return None
    first, last = int(history.time[0]), int(history.time[-1])
    if history.time_kind == "seconds" and last < _MOMENTS * 1_000_000:
        return str(first // 1_000_000), str(last // 1_000_000)
    days = history.time[[0, -1]].astype("datetime64[us]").astype("datetime64[D]")
    return str(days[0]), str(days[1])


def _chosen(system: RatingSystem) -> set[str]:
    """Return the names of the parameters that differ from the defaults."""
    defaults = parameters_of(make_system(system.name))
    return {name for name, value in parameters_of(system).items() if value != defaults[name]}


def _without_folders(history: HistoryMessage) -> HistoryMessage:
    problems = [
        msgspec.structs.replace(found, file=Path(found.file).name) for found in history.problems
    ]
    return msgspec.structs.replace(history, problems=problems)
