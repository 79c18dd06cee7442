"""Auditing incentives: read the history, search with each system, write a table and a chart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_args

import polars as pl

from equipoise.analysis.files.plot import player_rows
from equipoise.analysis.files.reading import check_outputs, history_message, read
from equipoise.analysis.files.systems import audit_each, plain_parameters
from equipoise.analysis.requests.studies import IncentivesRequest
from equipoise.analysis.requests.typed import shared
from equipoise.charts import theme
from equipoise.charts.values import incentives_subtitle
from equipoise.data.audits import Incentive, Others
from equipoise.data.history import History
from equipoise.data.reading import HistoryReading
from equipoise.errors import NotFoundError, require
from equipoise.evaluate.incentives.audit import (
    Effort,
    activity_of,
    incentives,
    sample,
)
from equipoise.formats import write_table
from equipoise.formats.writing import check_target
from equipoise.messages.conversion import plain
from equipoise.rating.replay import check_fit
from equipoise.rating.system import RatingSystem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class IncentivesAnswer:
    """Result of an incentive audit; `found` (for the same players) and `seconds`, by label."""

    history: History
    reading: HistoryReading
    systems: Mapping[str, RatingSystem]
    request: IncentivesRequest
    found: Mapping[str, list[Incentive]]
    seconds: Mapping[str, float]


def audit_incentives(
    systems: Mapping[str, RatingSystem],
    request: IncentivesRequest,
    progress: Callable[[int, int], None] | None = None,
) -> IncentivesAnswer:
    """Read the history, search with every system, write table and chart.

    Raises : EquipoiseError, and then nothing was written
    """
    effort = Effort(**shared(request, Effort))
    _check(request, len(systems))
    history, reading = read(request.history, systems)
    players = _players(next(iter(systems.values())), history, request.players)
    audit = partial(
        incentives,
        history=history,
        players=players,
        **{**shared(request, incentives), "effort": effort, "workers": request.workers or 1},
    )
    found, seconds = audit_each(systems, audit, progress)
    answer = IncentivesAnswer(
        history=history,
        reading=reading,
        systems=systems,
        request=request,
        found=found,
        seconds=seconds,
    )
    _write(answer)
    return answer


def _players(system: RatingSystem, history: History, named: tuple[str, ...]) -> list[object]:
    """Return the ids of the named players, or of some that the first system rates often."""
    check_fit(system, history)
    rated = system.capabilities.rated(history)
    rows = player_rows(history, named) or sample(activity_of(history, rated))
    if not rows:
        raise NotFoundError(f"{system.name} changes no rating in this history")
    players: list[object] = history.player_ids[rows].tolist()
    return players


def _check(request: IncentivesRequest, systems: int) -> None:
    """Refuse wrong options and outputs that cannot be written, before reading."""
    known = get_args(Others)
    require(request.others in known, "--others", f"one of {', '.join(known)}", request.others)
    require(request.seed >= 0, "--seed", "at least 0", request.seed)
    check_outputs(request.history, {"--output": request.output, "--chart": request.chart})
    if request.output is not None:
        check_target(request.output)
    if request.chart is not None:
        from equipoise.charts.incentives import MOST_SYSTEMS

        theme.check_file(request.chart)
        require(systems <= MOST_SYSTEMS, "systems", f"at most {MOST_SYSTEMS} in a chart", systems)


def _write(answer: IncentivesAnswer) -> None:
    request = answer.request
    if request.output is not None:
        write_table(table_of(answer), request.output)
    if request.chart is not None:
        theme.write(figure_of(answer, title=request.title), request.chart)


def table_of(answer: IncentivesAnswer) -> pl.DataFrame:
    """Return the matches of all players and systems in one table."""
    return pl.concat(
        one.file_table().select(
            pl.lit(label).alias("system"), pl.lit(one.player).alias("player"), pl.all()
        )
        for label, found in answer.found.items()
        for one in found
    )


def shown(answer: IncentivesAnswer) -> dict[str, Incentive]:
    """Return the incentives of one player, by system: the player with the largest gain in any.

    Systems can be compared only on the same player.
    """
    gains = [
        max(one.gain for one in of_player) for of_player in zip(*answer.found.values(), strict=True)
    ]
    number = gains.index(max(gains))
    return {label: found[number] for label, found in answer.found.items()}


def title_of(answer: IncentivesAnswer) -> str:
    """Return the default title of the chart."""
    player = next(iter(shown(answer).values())).player
    return f"What {player} gains by doing worse"


def figure_of(answer: IncentivesAnswer, *, title: str | None) -> Figure:
    """Return the chart as a figure of matplotlib."""
    from equipoise.charts.incentives import incentives_figure

    return incentives_figure(
        shown(answer),
        title=title or title_of(answer),
        subtitle=incentives_subtitle(cast(Others, answer.request.others)),
    )


#: Fields of an incentive beside its matches.
_OF_PLAYER = ("player", "played", "before", "gain", "gain_frozen", "plans", "failed", "complete")


def incentives_json(answer: IncentivesAnswer) -> dict[str, Any]:
    """Return what `equipoise audit incentives --json` prints."""
    request = answer.request
    return {
        "systems": [
            {
                "label": label,
                "system": answer.systems[label].name,
                "parameters": plain_parameters(answer.systems[label]),
                "players": [_player(one) for one in found],
                "seconds": answer.seconds[label],
            }
            for label, found in answer.found.items()
        ],
        "others": request.others,
        "last_matches": request.matches,
        "budget": request.budget,
        "replays": request.replays if request.others == "replayed" else None,
        "seed": request.seed,
        "history": history_message(answer.history, answer.reading),
    }


def _player(one: Incentive) -> dict[str, Any]:
    return {
        **{name: plain(getattr(one, name)) for name in _OF_PLAYER},
        "honest": plain(one.honest[-1]),
        "planned": plain(one.planned[-1]),
        "thrown": int(one.thrown.sum()),
        "matches": [{"time": None, **match} for match in one.file_table().to_dicts()],
    }
