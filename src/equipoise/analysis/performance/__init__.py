"""Which tournament to rate, or which rankings to estimate strengths from, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast

from equipoise.analysis.requests import (
    Confidence,
    GamesRequest,
    HistoryRequest,
    RawText,
    Table,
    typed,
)
from equipoise.errors import InvalidParameterError, require

if TYPE_CHECKING:
    from equipoise.tournament.tie_breaks import TieBreak
    from equipoise.tournament.tournament import Extra


@dataclass(frozen=True, slots=True)
class Anchors:
    """Ratings that are fixed.

    average : of all rated players; held : of players
    """

    average: float | None = None
    held: Mapping[str, float] = field(default_factory=dict)


def anchors_of(texts: Sequence[str], option: str) -> Anchors:
    """Return the average rating and the held ratings by player, from texts R and PLAYER=R.

    option : its name for users
    Raises : InvalidParameterError
    """
    average: float | None = None
    held: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            rating = float(value)
        except ValueError:
            raise InvalidParameterError(
                f"{option} takes a rating, or PLAYER=RATING; got {text!r}"
            ) from None
        if name and name not in held:
            held[name] = rating
        elif name or average is not None:
            who = f"player {name}" if name else "the average"
            raise InvalidParameterError(f"{option} must give one rating for {who}; got {text!r}")
        else:
            average = rating
    return Anchors(average, held)


def extra_columns(names: Sequence[str], option: str) -> tuple[Extra, ...]:
    """Return the names of further columns. Raises : InvalidParameterError."""
    from equipoise.tournament.tournament import EXTRA

    for name in names:
        require(name in EXTRA, option, f"one of {', '.join(EXTRA)}", name)
    return tuple(cast("Extra", name) for name in names)


def tie_breaks_of(texts: Sequence[str], option: str) -> tuple[TieBreak, ...]:
    """Return tie-breaks from texts with one name or more, separated by commas, each once.

    Names are those of `TIE_BREAKS` or FIDE's codes, such as BH-C1 or bh:c1.
    Raises : InvalidParameterError
    """
    from equipoise.tournament.tie_breaks import TIE_BREAKS, tie_break_named

    breaks: dict[TieBreak, None] = {}
    for text in texts:
        for name in text.split(","):
            known = tie_break_named(name)
            rule = f"one of {', '.join(TIE_BREAKS)}, or FIDE's codes"
            require(known is not None, option, rule, name.strip())
            if known is not None:
                breaks[known] = None
    return tuple(breaks)


def advantage_of(text: str | None, option: str) -> float | Literal["estimate"]:
    """Return rating points, or "estimate". Raises : InvalidParameterError."""
    if text is None:
        return 0.0
    if text == "estimate":
        return "estimate"
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(
            f"{option} takes rating points or the word estimate; got {text!r}"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceRequest(GamesRequest):
    """Which games to read, how to rate the performances, and what to write.

    players : ids to compare with `superiority`, whose errors are always computed
    details : ids of players whose tie-breaks are shown with their parts
    raw : whether CSV and TSV have text that spreadsheets run as it is
    The others are parameters of `equipoise.performance`.
    """

    anchor: Anchors = typed(
        Anchors,
        "Average rating to use instead of the rated players' mean, or a fixed rating for one "
        "player. Repeatable.",
        "R|PLAYER=R",
        many=True,
        read=anchors_of,
    )
    select: Literal["equal", "mean", "initial", "document"] = typed(
        "equal",
        "Equilibrium to print; all differ only by a constant. equal: reached if all players "
        "start at the average rating. mean: its mean is the average rating. initial: reached if "
        "players start at their own ratings.",
        "equal|mean|initial",
    )
    confidence: float = typed(
        0.95, "Confidence level of error bars and bounds, above 0 and below 1."
    )
    scale: float = typed(
        1.0, "Scale of the curve. 1 is the Elo scale: 400 points mean odds of ten to one."
    )
    curve: Literal["elo", "normal", "laplace", "cauchy"] = typed(
        "elo",
        "Function from a difference of ratings to an expected score. laplace and cauchy give the "
        "weaker player a better chance if the difference is large.",
        "elo|normal|laplace|cauchy",
    )
    draws: Literal["ignore", "davidson"] = typed(
        "ignore",
        "Treatment of draws. ignore: count a draw as half a win. davidson: model how often equal "
        "players draw.",
    )
    colour_advantage: float | Literal["estimate"] = typed(
        0.0,
        "Rating points added to white (or the home side); estimate computes them from the games.",
        "R|estimate",
        read=advantage_of,
    )
    prior: float = typed(
        0.0,
        "Number of drawn games against an average player to add for every player. Ratings then "
        "always exist, but they are not an equilibrium and are labelled as regularised.",
        "GAMES",
        least=0.0,
    )
    superiority: bool = typed(
        False, "Compute the probability that one player is better than another."
    )
    superiority_prior: Literal["field", "flat"] = typed(
        "field",
        "Prior strengths for --superiority. field: the players are one field, with the spread of "
        "the ratings. flat: a player can have any strength.",
        "field|flat",
    )
    players: tuple[str, ...] = typed(
        (),
        "Player to compare with --superiority. In a large tournament, also compute the player's "
        "error. Repeatable. [default: the first 20]",
        "P",
        name="--player",
    )
    also: tuple[Any, ...] = typed(
        (),
        "Add a column with the linear or recursive performance rating. Repeatable.",
        "linear|recursive",
        many=True,
        read=extra_columns,
    )
    tie_breaks: tuple[Any, ...] = typed(
        (),
        "Add tie-breaks as columns, with the place by points and then by them. Names: buchholz, "
        "fore-buchholz (each also -cut1, -cut2, -median, -median2), average-buchholz, "
        "sonneborn-berger, progressive (also -cut1, -cut2), direct-encounter, koya, wins, "
        "rounds-won, black-games, black-wins, rounds-elected, aro (also -cut1, -cut2, -median, "
        "-median2), fide-performance, ptp, apro, appo; or FIDE's codes, such as bh-c1,sb,de. "
        "Separate them with commas or repeat the option.",
        "NAMES",
        many=True,
        read=tie_breaks_of,
    )
    order: Literal["ppr", "points"] = typed(
        "ppr", "Order of the table: by PPR, or by points and then by the tie-breaks.", "ppr|points"
    )
    details: tuple[str, ...] = typed(
        (),
        "Show how a player's tie-breaks are computed: the games and rounds that count, their "
        "scores, and the cuts. Repeatable.",
        "P",
    )
    unplayed: Literal["fide", "absent", "ignore"] = typed(
        "fide",
        "How tie-breaks treat rounds without a game. fide: by FIDE's rules; empty if the games "
        "do not show why there was none. absent: the same, but assume that the player was "
        "absent. ignore: count played games only.",
        "fide|absent|ignore",
    )
    pairing: Literal["auto", "swiss", "round-robin"] = typed(
        "auto",
        "Pairing of the tournament. In a round robin, tie-breaks count a forfeit as a game "
        "against the opponent. auto: round-robin if every pair of players is scheduled equally "
        "often.",
        "auto|swiss|round-robin",
    )
    tie_break_rules: Literal["2024-08", "2026-03"] = typed(
        "2026-03",
        "Date of FIDE's rules for tie-breaks. They differ in unplayed rounds.",
        "2024-08|2026-03",
    )
    k_factor: float | None = typed(
        None, "Add the rating change by FIDE's table with this K for all players.", "K"
    )
    rating_rules: Literal["2022-01", "2024-03", "2025-10"] = typed(
        "2025-10",
        "Date of FIDE's rules for differences above 400 points, with --k-factor.",
        "2022-01|2024-03|2025-10",
    )
    strict: bool = typed(False, "Fail with exit status 1 if no equilibrium exists.")
    output: str | None = typed(
        None, "Write the complete table: .csv, .parquet, .json, .jsonl or .tsv.", "FILE"
    )
    chart: str | None = typed(
        None,
        "Draw a chart (.svg, .png or .pdf): ratings with error bars, class by class if no "
        "equilibrium exists.",
        "FILE",
    )
    raw: RawText = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StrengthsRequest:
    """Which rankings to read, how to estimate strengths, and what to write.

    The others are parameters of `equipoise.ranking_strengths`.
    """

    top: int | None = typed(
        None,
        "Use only this number of first places in every match; 1 uses only the winner.",
        "PLACES",
        least=1,
    )
    ties: Literal["refuse", "breslow"] = typed(
        "refuse",
        "Treatment of ties above the last place. breslow (an approximation): count g tied "
        "players as g choices from them and all players below.",
        "refuse|breslow",
    )
    prior: float = typed(
        0.0,
        "Number of drawn games against an average player to add for every player. Strengths then "
        "always exist, but are closer together.",
        "GAMES",
        least=0.0,
    )
    anchor: float = typed(0.0, "Mean rating of players connected by matches.", "R")
    scale: float = 1.0
    confidence: Confidence = 0.95
    output: Table = None
    history: HistoryRequest
