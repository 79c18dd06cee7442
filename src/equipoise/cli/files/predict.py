"""equipoise predict: what to expect of a match that has not been played."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.cli import options
from equipoise.cli.declaring import option
from equipoise.cli.tables import cut, table
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.questions import Outcome, PredictedTeam, PredictMessage, WhatIfMessage

EXAMPLE = """\b
Example:
  equipoise rate examples/contests.csv --save pool.npz --output ratings.csv
  equipoise predict --resume pool.npz --team jade-kite --team cedar-bear --if-ranked"""

#: Rows shown on a terminal; a pipe gets all of them.
SHOWN = 20

#: Letters of a team's name that a table shows; the whole is in --json.
_NAME = 40


def predict(
    *,
    resume: str = option(..., "A state saved by `equipoise rate --save`.", "FILE.npz"),
    team: list[str] | None = option(
        None,
        "Players of one team; repeat it for every team. An id with a comma in it goes in double "
        "quotes, as in CSV.",
        "A,B,...",
    ),
    field: str | None = option(
        None,
        "More teams, of one player each: a player a line, or the player column of a CSV file; - "
        "for standard input.",
        "FILE",
    ),
    at: str | None = option(None, "When they meet. [default: time of the last match]", "TIME"),
    time_format: str | None = option(
        None, "How --at is written: iso, s, ms, ..., as for `equipoise rate`.", "FORMAT"
    ),
    home: str | None = option(
        None, "This player's team is at home (systems with home_advantage).", "PLAYER"
    ),
    places: bool = option(False, "Sample the distribution of every team's place."),
    samples: int = option(10_000, "Matches to sample for --places.", min=1),
    seed: int = option(0, "Random seed of the sampling.", min=0),
    if_ranked: bool = option(False, "What each place would do to a player's rating, exactly."),
    player: list[str] | None = option(
        None, "For whom, with --if-ranked; repeatable. [default: the first]", "PLAYER"
    ),
    as_json: options.Json,
) -> None:
    """Say what to expect of a match between players of a saved state, and newcomers.

    Prints expected scores, for two teams the chances of a win and of a draw, and in small fields
    the chance of every pair. --places adds the chance of each place, --if-ranked the change of
    rating for each place, if the others finish in the order of their ratings.
    """
    from equipoise.analysis.files.predict import PredictRequest, predict_match
    from equipoise.cli.report import print_json, say, working

    request = PredictRequest(
        state=resume,
        teams=team or [],
        field=sys.stdin if field == "-" else field,
        at=at,
        time_format=time_format,
        home=home,
        samples=samples if places else None,
        seed=seed,
        what_if=if_ranked,
        players=player or [],
    )
    with working("trying places") as job:
        answer = predict_match(request, job.progress)
    if as_json:
        print_json(answer)
        return
    say(*answer.notes)
    order = _best_first(answer)
    shown = order[:SHOWN] if sys.stdout.isatty() else order
    _print_teams(answer, shown)
    _print_places(answer, shown)
    if len(shown) < len(order):
        say(f"... and {len(order) - len(shown):,} more; in a pipe all are printed.")
    _print_pairs(answer, order)
    for tried in answer.what_if:
        _print_what_if(answer, tried)


def _best_first(answer: PredictMessage) -> list[int]:
    """Return the numbers of the teams, the one expected to do best first."""
    return sorted(range(len(answer.teams)), key=lambda i: -answer.teams[i].expected)


def _name(team: PredictedTeam) -> str:
    """Return the team's players as one word of a table; newcomers are marked."""
    names = [f"{one.player} (new)" if one.newcomer else str(one.player) for one in team.players]
    return cut(", ".join(names), _NAME)


def _print_teams(answer: PredictMessage, order: list[int]) -> None:
    """Print a row a team: its rating, expected score and the place that follows from it."""
    from equipoise.cli.report import print_lines, print_table

    columns = {_heading(answer): "", "rating": ".2f", "deviation": ".2f", "expected": ".4f"}
    places = len(answer.teams) > 2
    if places:
        columns["place"] = ".1f"
    rows = (
        [_name(one), one.rating, one.deviation, one.expected] + [one.expected_place] * places
        for one in (answer.teams[i] for i in order)
    )
    print_table(table(columns, rows))
    if answer.win is not None:
        (first, second), draw = answer.win, answer.draw or 0.0
        how = " (estimated from earlier draws)" if answer.draw_by == "estimate" else ""
        print_lines(
            "",
            f"{_name(answer.teams[0])} wins {100 * first:.1f} %, draw {100 * draw:.1f} %, "
            f"{_name(answer.teams[1])} wins {100 * second:.1f} %{how}",
        )
    if answer.by == "team mean":
        print_lines(
            "", f"{answer.system} cannot rate these teams, which are compared by team mean."
        )


def _print_places(answer: PredictMessage, order: list[int]) -> None:
    """Print how the places of the teams are distributed, where that was asked for."""
    from equipoise.cli.report import print_lines, print_table

    named = [(_name(answer.teams[i]), answer.teams[i].places) for i in order]
    sampled = [(name, places) for name, places in named if places is not None]
    if not sampled:
        return
    chances = [one for one in ("first", "top3", "top10") if getattr(sampled[0][1], one) is not None]
    sampled_from = counted(answer.samples or 0, "sampled match", "sampled matches")
    print_lines("", f"Places in {sampled_from} (seed {answer.seed})")
    rows = (
        (
            *(name, places.mean, f"{places.lower}-{places.upper}"),
            *(f"{100 * getattr(places, one):.1f} %" for one in chances),
        )
        for name, places in sampled
    )
    columns = {_heading(answer): "", "mean": ".1f", "5-95 %": ">", **dict.fromkeys(chances, ">")}
    print_table(table(columns, rows))


def _print_pairs(answer: PredictMessage, order: list[int]) -> None:
    """Print the chances of all pairs, in the order of the first table."""
    from equipoise.cli.report import print_lines, print_table

    if answer.pairs is None or len(answer.teams) < 3:
        return
    print_lines("", "Chance that the row beats the column, in percent")
    rows = []
    for number, i in enumerate(order, start=1):
        chances = ["-" if i == j else 100 * answer.pairs[i][j] for j in order]
        rows.append((f"{number} {_name(answer.teams[i])}", *chances))
    columns = {"": "", **{str(number): ".0f" for number in range(1, len(order) + 1)}}
    print_table(table(columns, rows))


def _print_what_if(answer: PredictMessage, tried: WhatIfMessage) -> None:
    """Print the change of rating for each place: a selection of them on a terminal."""
    from equipoise.analysis.files.predict import notable_places
    from equipoise.cli.report import print_lines, print_table, say

    teams, expected = len(answer.teams), answer.teams[tried.team].expected_place
    about = f", expected place {expected:.1f}" if teams > 2 else ""
    now = f"{tried.rating_before:.2f}{_plus_minus(tried.deviation_before)}"
    each = "place" if teams > 2 else "result"
    print_lines("", f"What each {each} would do to {tried.player}, now {now}{about}")
    outcomes = tried.outcomes
    if sys.stdout.isatty() and len(outcomes) > SHOWN:
        wanted = {*notable_places(teams), round(expected)}
        outcomes = [one for one in outcomes if one.place in wanted]
    rows = (
        (one.place if teams > 2 else _result(one), one.change, one.rating, one.deviation)
        for one in outcomes
    )
    first = {each: "d" if teams > 2 else ""}
    print_table(table({**first, "change": "+.2f", "rating": ".2f", "deviation": ".2f"}, rows))
    if len(outcomes) < teams:
        say(f"... {len(outcomes)} of {teams:,} places")


def _heading(answer: PredictMessage) -> str:
    """Return the heading of the teams' column."""
    return "team" if any(len(one.players) > 1 for one in answer.teams) else "player"


def _result(outcome: Outcome) -> str:
    """Return what a place means between two."""
    return "draw" if outcome.tied else "win" if outcome.place == 1 else "loss"


def _plus_minus(deviation: float | None) -> str:
    return "" if deviation is None else f" +- {deviation:.2f}"
