"""equipoise predict: the expected result of a match that has not been played."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from equipoise.analysis.predict import PredictRequest
from equipoise.cli import options
from equipoise.cli.report import cut, print_json, print_lines, print_table, say, table, working
from equipoise.wording import counted

if TYPE_CHECKING:
    from equipoise.messages.questions import Outcome, PredictedTeam, PredictMessage, WhatIfMessage


#: Rows on a terminal; a pipe gets all of them.
_SHOWN = 20

#: Width of a team's name in a table; --json has the whole name.
_NAME = 40


def predict(*, request: PredictRequest, system: options.System, as_json: options.Json) -> None:
    """Predict a match between players of a saved state, players with known ratings, or newcomers.

    Prints expected scores; for two teams, the probabilities of a win and a draw; for few teams, the
    win probability of every pair. --places adds the probability of each place. --what-if adds the
    rating change for each place, if the others finish in the order of their ratings.

    Example:
      equipoise rate examples/contests.csv --save pool.npz --output ratings.csv
      equipoise predict --state pool.npz --team jade-kite --team cedar-bear --what-if
    """
    from equipoise.analysis.predict.computation import predict_match

    chosen = system.chosen(system.settings())
    with working("trying places") as job:
        answer = predict_match(request, chosen, job.progress)
    if as_json:
        print_json(answer)
        return
    say(*answer.notes)
    # The team that is expected to do best is first.
    order = sorted(range(len(answer.teams)), key=lambda i: -answer.teams[i].expected)
    shown = order[:_SHOWN] if sys.stdout.isatty() else order
    _print_teams(answer, shown)
    _print_places(answer, shown)
    if len(shown) < len(order):
        say(f"... and {len(order) - len(shown):,} more; in a pipe all are printed.")
    _print_pairs(answer, order)
    for outcome in answer.what_if:
        _print_what_if(answer, outcome)


def _name(team: PredictedTeam) -> str:
    """Return the team's players as one word of a table; newcomers are marked."""
    names = [
        f"{player.player} (new)" if player.newcomer else str(player.player)
        for player in team.players
    ]
    return cut(", ".join(names), _NAME)


def _print_teams(answer: PredictMessage, order: list[int]) -> None:
    """Print one row for each team: its rating, expected score and expected place."""
    columns = {_heading(answer): "", "rating": ".2f", "deviation": ".2f", "expected": ".4f"}
    if answer.uncalibrated is not None:
        columns["uncalibrated"] = ".4f"
    places = len(answer.teams) > 2
    if places:
        columns["place"] = ".1f"
    rows = (
        [_name(team), team.rating, team.deviation, team.expected, *uncalibrated]
        + [team.expected_place] * places
        for team, uncalibrated in (
            (answer.teams[i], (answer.uncalibrated or [])[i : i + 1]) for i in order
        )
    )
    print_table(table(columns, rows))
    print_lines(*_of_two(answer))
    if answer.by == "team mean":
        print_lines(
            "", f"{answer.system} cannot rate these teams; they are compared by their mean ratings."
        )


def _of_two(answer: PredictMessage) -> list[str]:
    """Return the lines on win, draw and match quality, after an empty line; none without them."""
    from equipoise.data.prediction import draw_source

    lines = []
    if answer.win is not None:
        (first, second), draw = answer.win, answer.draw or 0.0
        source = draw_source(answer.draw_by).removeprefix("draws ")
        lines.append(
            f"{_name(answer.teams[0])} wins {100 * first:.1f} %, draw {100 * draw:.1f} %, "
            f"{_name(answer.teams[1])} wins {100 * second:.1f} %{source and f' ({source})'}"
        )
    if answer.quality is not None:
        how = " (estimated)" if answer.quality_by == "estimate" else ""
        lines.append(f"match quality {answer.quality:.3f}{how}")
    return ["", *lines] if lines else []


def _print_places(answer: PredictMessage, order: list[int]) -> None:
    """Print the distribution of the places of each team, if it was sampled."""
    named = [(_name(answer.teams[i]), answer.teams[i].places) for i in order]
    sampled = [(name, places) for name, places in named if places is not None]
    if not sampled:
        return
    chances = [
        field for field in ("first", "top3", "top10") if getattr(sampled[0][1], field) is not None
    ]
    sampled_from = counted(answer.samples or 0, "sampled match", "sampled matches")
    print_lines("", f"Places in {sampled_from} (seed {answer.seed})")
    rows = (
        (
            *(name, places.mean, f"{places.lower}-{places.upper}"),
            *(f"{100 * getattr(places, field):.1f} %" for field in chances),
        )
        for name, places in sampled
    )
    columns = {_heading(answer): "", "mean": ".1f", "5-95 %": ">", **dict.fromkeys(chances, ">")}
    print_table(table(columns, rows))


def _print_pairs(answer: PredictMessage, order: list[int]) -> None:
    """Print the win probabilities of all pairs, in the order of the first table."""
    if answer.pairs is None or len(answer.teams) < 3:
        return
    print_lines("", "Probability that the row beats the column, in percent")
    rows = []
    for number, i in enumerate(order, start=1):
        chances = ["-" if i == j else 100 * answer.pairs[i][j] for j in order]
        rows.append((f"{number} {_name(answer.teams[i])}", *chances))
    columns = {"": "", **{str(number): ".0f" for number in range(1, len(order) + 1)}}
    print_table(table(columns, rows))


def _print_what_if(answer: PredictMessage, what_if: WhatIfMessage) -> None:
    """Print the change of rating for each place; a terminal shows only some places."""
    from equipoise.analysis.predict.computation import notable_places
    from equipoise.display import RANGE_LABEL, half_width_in_words

    teams, expected = len(answer.teams), answer.teams[what_if.team].expected_place
    about = f", expected place {expected:.1f}" if teams > 2 else ""
    now = f"{what_if.rating_before:.2f}"
    if what_if.deviation_before is not None:
        now += f" +- {half_width_in_words(what_if.deviation_before)} ({RANGE_LABEL})"
    each = "place" if teams > 2 else "result"
    print_lines("", f"Rating of {what_if.player} after each {each}, now {now}{about}")
    outcomes = what_if.outcomes
    if sys.stdout.isatty() and len(outcomes) > _SHOWN:
        wanted = {*notable_places(teams), round(expected)}
        outcomes = [outcome for outcome in outcomes if outcome.place in wanted]
    rows = (
        (
            outcome.place if teams > 2 else _result(outcome),
            outcome.change,
            outcome.rating,
            outcome.deviation,
        )
        for outcome in outcomes
    )
    first = {each: "d" if teams > 2 else ""}
    print_table(table({**first, "change": "+.2f", "rating": ".2f", "deviation": ".2f"}, rows))
    if len(outcomes) < teams:
        say(f"... {len(outcomes)} of {teams:,} places")


def _heading(answer: PredictMessage) -> str:
    """Return the heading of the column of teams."""
    return "team" if any(len(team.players) > 1 for team in answer.teams) else "player"


def _result(outcome: Outcome) -> str:
    """Return the result of a match of two teams."""
    return "draw" if outcome.tied else "win" if outcome.place == 1 else "loss"
