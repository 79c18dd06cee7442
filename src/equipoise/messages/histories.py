"""Messages about histories, tournaments and systems: what was read, rated and written."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.messages.conversion import ProblemMessage


class HistoryMessage(msgspec.Struct, frozen=True):
    """What was read and what was left out.

    unrated : matches marked as not rated; filtered : matches that the selection leaves out
    """

    matches: int
    participations: int
    players: int
    unrated: int
    filtered: int
    dropped_matches: list[str]
    dropped_rows: int
    problems: list[ProblemMessage]
    notes: list[str]


class RateSummary(msgspec.Struct, frozen=True):
    """What was read, left out and rated, and how long it took.

    unused : given columns and options that the system does not use
    """

    system: str
    parameters: dict[str, Any]
    matches: int
    participations: int
    players: int
    known_matches: int
    skipped_all_tied: list[str]
    single: int
    unrated: int
    filtered: int
    dropped_matches: list[str]
    dropped_rows: int
    problems: list[ProblemMessage]
    notes: list[str]
    unused: list[str]
    seconds: dict[str, float]
    kernels_compiled: int


class PoolRated(msgspec.Struct, frozen=True):
    """One pool of `equipoise rate --by --json`.

    values : value of each column, null if it is missing
    status : "rated" or "failed"
    files : option -> file written
    error, problems : why it failed; null and empty if it did not
    """

    values: dict[str, str | None]
    status: str
    matches: int
    participations: int
    players: int
    files: dict[str, str]
    error: str | None
    problems: list[ProblemMessage]


class RateByMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise rate --by --json`: an entry for each pool, and sums of all.

    players : a player counts once in each pool
    notes : each with the number of pools that it is about, where these are several
    """

    system: str
    parameters: dict[str, Any]
    by: list[str]
    pools: list[PoolRated]
    rated: int
    failed: int
    matches: int
    participations: int
    players: int
    unrated: int
    filtered: int
    dropped_matches: list[str]
    dropped_rows: int
    problems: list[ProblemMessage]
    notes: list[str]
    seconds: float


class ParameterMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parameter of a system: its type and default, and what to know before setting it.

    note : absent if there is none
    """

    name: str
    type: str
    default: Any
    note: str = ""


class SystemMessage(msgspec.Struct, frozen=True):
    """A rating system: its purpose, what it can rate, its parameters.

    uses : columns of a history that change its ratings
    needs : columns that count only with a certain parameter -> that parameter
    package : the package that the system comes from, as pip takes it; empty if it is built in. The
        list of all systems has only its name and its purpose
    """

    name: str
    summary: str
    rates: str
    source: str
    parameters: list[ParameterMessage]
    uses: list[str]
    needs: dict[str, str]
    package: str = ""


class ContributionMessage(msgspec.Struct, frozen=True):
    """One part of the change, in rating points, and a sentence on why it is so large."""

    name: str
    change: float
    reason: str


class QuantityMessage(msgspec.Struct, frozen=True):
    """One number on the way from the result to the change: its unit and what it means."""

    name: str
    value: float | None
    unit: str
    meaning: str


class OpponentMessage(msgspec.Struct, frozen=True):
    """What one opponent, or opposing team, had to do with it; `effect` in rating points."""

    player: int | str
    rank: int
    rating: float
    deviation: float | None
    score: float
    expected: float
    effect: float


class RememberedMessage(msgspec.Struct, frozen=True):
    """What a remembered performance has to say; `match` is null for what was before all of them."""

    match: int | str | None
    time: int | str | None
    performance: float
    weight: float
    change: float


class ExplainMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise explain --json`: why a match changed a player's rating.

    `contributions` sum to `change`. `rank` counts from 1, `tied` the others in that place. Times
    are as the history writes them. `expected` and `score` are shares of the opponents, expected
    to be beaten and beaten, ties one half. `played` is the time that was posted with the match,
    null where there was none; a pool then counts it at `time`, that of its receipt. `least_change`
    and `largest_change` are what the worst and the best result there can be would have done, null
    where a system has no bound.
    """

    system: str
    match: int | str
    player: int | str
    time: int | str | None
    rank: int
    tied: int
    teams: int
    weight: float
    rating_before: float
    deviation_before: float | None
    rating: float
    deviation: float | None
    change: float
    expected: float
    score: float
    contributions: list[ContributionMessage]
    quantities: list[QuantityMessage]
    opponents: list[OpponentMessage]
    remembered: list[RememberedMessage]
    least_change: float | None
    largest_change: float | None
    played: int | str | None = None


class PosteriorMessage(msgspec.Struct, frozen=True):
    """The posterior density of a player's skill after a match.

    `rating` is its mode and `deviation` that of the system; the others are of the density itself,
    `low` and `high` between which it has 95 %. `density` is that at every `skill`, 1/rating points.
    """

    rating: float
    deviation: float
    mean: float
    median: float
    standard_deviation: float
    low: float
    high: float
    skill: list[float]
    density: list[float]


class PosteriorExplainMessage(ExplainMessage, frozen=True, kw_only=True):
    """The answer of `equipoise explain --posterior --json`."""

    posterior: PosteriorMessage


class SimulateMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise simulate --json`: what was made, how, and where it was written."""

    kind: str
    seed: int
    parameters: dict[str, Any]
    matches: int
    participations: int
    players: int
    output: str | None
    skills: str | None
    seconds: float


class StrengthRow(msgspec.Struct, frozen=True):
    """A player; null where there is no such number.

    `error` is the half-width at the requested confidence. `chosen` counts how often the player was
    placed before others, `expected` how often the ratings expect it. Ratings of different
    `component` cannot be compared.
    """

    player: int | str
    rating: float | None
    error: float | None
    matches: int
    chosen: float
    expected: float
    component: int | None


class StrengthsMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise strengths --json`."""

    players: list[StrengthRow]
    components: int
    log_likelihood: float
    residual: float
    confidence: float
    prior: float
    scale: float
    history: HistoryMessage


class PerformanceRow(msgspec.Struct, frozen=True, rename={"class_": "class"}):
    """A player; null where there is no such number.

    `error` is the half-width at the requested confidence. `class_ppr` is the rating among the
    players of the same class, null if that class has no known level; `lower` and `upper` bound a
    rating from one side.
    """

    player: int | str
    games: float
    points: float
    expected: float | None
    rating: float | None
    average_opponent: float | None
    tpr: float | None
    cpr: float | None
    fide: float | None
    ppr: float | None
    error: float | None
    status: str
    class_: int | None
    class_ppr: float | None
    lower: float | None
    upper: float | None
    extra: dict[str, float | None] = {}


class SweepMessage(msgspec.Struct, frozen=True):
    """Who took every point of whom, and by how much at least they are better for it."""

    winners: list[int | str]
    losers: list[int | str]
    games: float
    difference: float | None


class SuperiorityMessage(msgspec.Struct, frozen=True):
    """Row i, column j: the probability that players[i] is better than players[j].

    prior : "field", with the spread of the field as the prior of strengths, or "flat"
    """

    players: list[int | str]
    probability: list[list[float | None]]
    prior: str = "field"


class TieBreakPartMessage(msgspec.Struct, frozen=True):
    """A game or round of a tie-break; null where there is no such number.

    `score` is the opponent's score or rating that counts, `value` what one game adds. `status` is
    `counts`, `cut` or `left out`.
    """

    round: int | None
    opponent: int | str | None
    kind: str
    games: float
    points: float
    score: float | None
    value: float | None
    status: str


class TieBreakMessage(msgspec.Struct, frozen=True):
    """How a tie-break of a player came about."""

    player: int | str
    name: str
    total: float | None
    parts: list[TieBreakPartMessage]


class PerformanceMessage(msgspec.Struct, frozen=True):
    """The answer of `equipoise performance --json`.

    `exists`: finite ratings predict every score. `relative`: players have no known level, and
    their mean is 0.
    `regularised`: a prior was given, so `ppr` is not the equilibrium. `left_out` counts results
    that are not games, by reason; `skipped` those with `problems`, where these are skipped.
    """

    players: list[PerformanceRow]
    exists: bool
    components: int
    sweeps: list[SweepMessage]
    relative: bool
    regularised: bool
    held: list[int | str]
    confidence: float
    colour_advantage: float
    draw_parameter: float | None
    reasons: list[str]
    left_out: dict[str, int]
    notes: list[str]
    superiority: SuperiorityMessage | None = None
    details: list[TieBreakMessage] = []
    skipped: int = 0
    problems: list[ProblemMessage] = []
