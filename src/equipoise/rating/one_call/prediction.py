"""What a system expects of one coming match: scores, wins and draws, places, and match quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.arrays import Floats
from equipoise.data.history import MICROSECONDS_PER_DAY, History
from equipoise.data.prediction import ESTIMATE, GIVEN, Outlook, draw_source
from equipoise.display import table_html
from equipoise.errors import InvalidParameterError, require
from equipoise.rating.one_call.draw_probability import with_draw_probability
from equipoise.rating.one_call.rate import check_time, facts_of_ratings, who_is_at_home
from equipoise.rating.one_call.rating import SystemFacts
from equipoise.rating.one_call.teams import Teams, flat_teams, values_of
from equipoise.rating.one_match import state_of
from equipoise.rating.predicting.lineup import team_prediction
from equipoise.rating.state import State
from equipoise.rating.system import own_deviations

if TYPE_CHECKING:
    from equipoise.rating.base_system import System

#: Largest number of teams whose places have a chance each.
MOST_PLACED = 100


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MatchPrediction:
    """What a system expects of one match, as plain numbers in the order of the teams.

    expected : of each team, the mean score against the other teams, a win 1 and a tie 1/2
    win : of each of two teams, the probability of a win; None for more teams, and if the draw
        probability is unknown; `draw_note` then says how to get it
    draw : probability of a draw of two teams; None where `win` is
    quality : match quality as [TS]_ defines it, from 0 to 1 and higher for more even and more
        certain teams; None for teams that the system cannot rate, and for more than two in systems
        that do not model draws
    by : name of the system that predicts, or "team mean" for teams that it cannot rate
    outlook : of the teams: the win probability of every pair, without draws
    newcomers : names that a pool does not know, who count as newcomers
    draw_by : name of the system if it models draws; "estimate" from the draws of a pool, or
        "draw_rate" if that was given; None where `win` is
    quality_by : name of the system if it models draws, or "estimate"; None where `quality` is
    draw_note : why `win` and `draw` are unknown, and how to get them; "" if they are known

    Examples
    --------
    >>> import equipoise as eq
    >>> system = eq.TrueSkill()
    >>> prediction = system.predict([system.rating(1600, 80), system.rating(1500, 80)])
    >>> [round(chance, 3) for chance in (prediction.win[0], prediction.draw, prediction.loss[0])]
    [0.6, 0.085, 0.315]
    >>> round(prediction.quality, 3)
    0.85
    """

    expected: tuple[float, ...]
    win: tuple[float, ...] | None
    draw: float | None
    quality: float | None
    by: str
    outlook: Outlook = field(repr=False, compare=False)
    newcomers: tuple[Any, ...] = ()
    draw_by: str | None = None
    quality_by: str | None = None
    draw_note: str = field(default="", compare=False)

    def __repr__(self) -> str:
        chances = [f"expected {_listed(self.expected)}"]
        if self.win is not None and self.draw is not None:
            how = f" ({self.draw_by})" if self.draw_by in (ESTIMATE, GIVEN) else ""
            chances.append(f"win {_listed(self.win)}, draw {self.draw:.3f}{how}")
        if self.quality is not None:
            how = " (estimate)" if self.quality_by == ESTIMATE else ""
            chances.append(f"quality {self.quality:.3f}{how}")
        return f"<MatchPrediction: {', '.join(chances)}, by {self.by}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: one row for each team."""
        teams = len(self.expected)
        columns: dict[str, Sequence[object]] = {"team": range(1, teams + 1)}
        columns["expected"] = self.expected
        notes = []
        if self.win is not None and self.draw is not None:
            columns |= {"win": self.win, "draw": [self.draw] * teams, "loss": self.win[::-1]}
        if self.quality is not None:
            how = ", estimated" if self.quality_by == ESTIMATE else ""
            notes.append(f"Match quality {self.quality:.3f}{how}")
        source = draw_source(self.draw_by) or self.draw_note
        if source:
            notes.append(source[0].upper() + source[1:])
        return table_html(f"Prediction by {self.by}", columns, notes=notes)

    @property
    def loss(self) -> tuple[float, ...] | None:
        """Of each of two teams, the probability of a loss; None where `win` is."""
        return None if self.win is None else self.win[::-1]

    @property
    def expected_places(self) -> tuple[float, ...]:
        """Of each team, the mean place, from 1; it follows from `expected`."""
        others = len(self.expected) - 1
        return tuple(1.0 + (1.0 - one) * others for one in self.expected)

    def places(self, *, samples: int = 10_000, seed: int = 0) -> list[list[float]]:
        """Return the chance of every place for each team: places[team][0] is that of the first.

        Places differ: draws have no chance here. Of two teams the chances are exact; of more they
        are shares of matches drawn at random, and the same seed gives the same numbers.

        samples : number of matches drawn; a chance p has the standard error sqrt(p (1 - p)/samples)
        seed : random seed of the samples
        Raises : InvalidParameterError for more than 100 teams

        Examples
        --------
        >>> import equipoise as eq
        >>> system = eq.PlackettLuce()
        >>> teams = [[system.rating(1700, 80)], [system.rating()], [system.rating()]]
        >>> [round(first, 2) for first, *_ in system.predict(teams).places()]
        [0.42, 0.3, 0.28]
        """
        from equipoise.rating.one_call.placing import place_distribution

        teams = len(self.expected)
        if teams == 2:
            first, second = self.outlook.expected().tolist()
            return [[first, second], [second, first]]
        if teams > MOST_PLACED:
            raise InvalidParameterError(
                f"places has the chance of every place for up to {MOST_PLACED} teams; got {teams}: "
                "use equipoise.place_distribution(prediction.outlook)"
            )
        require(seed >= 0, "seed", "at least 0", seed)
        rng = np.random.default_rng(seed)
        found = place_distribution(
            self.outlook, rng=rng, samples=samples, within=range(1, teams + 1)
        )
        each: list[list[float]] = np.diff(found.chance, axis=0, prepend=0.0).T.tolist()
        return each


def predict(
    system: System,
    teams: Any,
    *,
    time: Any,
    home: int | None,
    draw_rate: float | None = None,
    draw_probability: Any = None,
    share: Any = None,
    beta: float | None = None,
    gamma: float | None = None,
) -> MatchPrediction:
    """Return the prediction for teams of ratings; see `System.predict`."""
    given = flat_teams(teams)
    facts = facts_of_ratings(system, given.players)
    numbers = [one._numbers for one in given.players]
    if draw_probability is not None:
        system = _with_draws(system, draw_probability, given)
    shares = None if share is None else _shares(system, share, given)
    day = None if time is None else check_time(system, facts, numbers, time)
    own = own_deviations(system.name, facts.able, beta, gamma)
    if facts.plain_rating and facts.plain_deviation:
        # Reading a state of these players would give the same two columns.
        shown = np.array([row[:2] for row, _ in numbers]).T
        return _of_ratings(
            system,
            facts,
            _NO_POOL,
            shown[0],
            shown[1],
            given.sizes,
            day,
            home,
            draw_rate=draw_rate,
            share=shares,
            own=own,
        )
    state = state_of(system, numbers)
    return predicted(
        system, facts, state, given.sizes, day, home, draw_rate=draw_rate, share=shares, own=own
    )


def _with_draws(system: System, draw_probability: Any, given: Teams) -> System:
    """Return the system with the draw probability of a match. Raises : InvalidParameterError."""
    if len(given.sizes) > 2:
        raise InvalidParameterError(
            "draw_probability must be left out for more than two teams, because their prediction "
            f"has no draws; got {draw_probability!r}"
        )
    found: System = with_draw_probability(system, draw_probability, given.players, given.sizes)
    return found


def _shares(system: System, share: Any, given: Teams) -> Floats:
    """Return how much of the match each player takes part in. Raises : InvalidParameterError."""
    if not system.predicts_shares:
        raise InvalidParameterError(
            f"share must be left out, because predictions of {system.name} do not use it"
        )
    listed = [1.0 if math.isnan(one) else one for one in values_of("share", share, given, 0, 1)]
    found = np.array(listed)
    team = np.repeat(np.arange(len(given.sizes)), given.sizes)
    most = np.bincount(team, found).min()
    require(most > 0, "share", "above 0 for a player of every team", share)
    return found


def predicted(
    system: System,
    facts: SystemFacts,
    state: State,
    sizes: Sequence[int],
    day: float | None,
    home: int | None,
    newcomers: tuple[Any, ...] = (),
    draw_rate: float | None = None,
    share: Floats | None = None,
    own: Mapping[str, float] | None = None,
) -> MatchPrediction:
    """Return the prediction for the players of a state, team after team.

    day : time of the match, days since 1970; None: every player as of the last match
    """
    now = system.at(state, np.arange(state.players), day)
    rating, deviation = now["rating"], now["deviation"]
    return _of_ratings(
        system,
        facts,
        state,
        rating,
        deviation,
        sizes,
        day,
        home,
        newcomers,
        draw_rate=draw_rate,
        share=share,
        own=own,
    )


def _of_ratings(
    system: System,
    facts: SystemFacts,
    state: State,
    rating: Floats,
    deviation: Floats,
    sizes: Sequence[int],
    day: float | None,
    home: int | None,
    newcomers: tuple[Any, ...] = (),
    *,
    draw_rate: float | None = None,
    share: Floats | None = None,
    own: Mapping[str, float] | None = None,
) -> MatchPrediction:
    """Return the prediction for players with these ratings, team after team.

    state : says how often two teams have drawn
    own : deviations of the match's own
    """
    team = np.repeat(np.arange(len(sizes)), sizes)
    match = None
    if home is not None or own or "at_home" in facts.able.uses:
        at_home = who_is_at_home(system, facts.able, sizes, home)
        match = _match_of(team, day, at_home, own or {})
    found = team_prediction(
        system,
        state,
        rating,
        deviation,
        team,
        match=match,
        draw_rate=draw_rate,
        share=share,
        able=facts.able,
    )
    return MatchPrediction(
        expected=tuple(found.expected.tolist()),
        win=None if found.win is None else tuple(found.win.tolist()),
        draw=found.draw,
        quality=found.quality,
        by=found.by,
        outlook=found.outlook,
        newcomers=newcomers,
        draw_by=found.draw_by,
        quality_by=found.quality_by,
        draw_note=found.draw_note,
    )


#: The state of no players, where nobody has counted draws.
_NO_POOL = State(initial={}, table=np.zeros((0, 0)))


def _match_of(
    team: Any, day: float | None, at_home: Sequence[bool], own: Mapping[str, float]
) -> History:
    """Return the match as a history, if the home side or deviations of its own count.

    team : shape (n,), the team of each player
    """
    return History(
        match_ids=np.zeros(1, np.int64),
        player_ids=np.arange(len(team)),
        offsets=np.array([0, len(team)]),
        player=np.arange(len(team)),
        team=team,
        rank=team.copy(),
        time=None if day is None else np.array([round(day * MICROSECONDS_PER_DAY)]),
        beta=np.array([own["beta"]]) if "beta" in own else None,
        gamma=np.array([own["gamma"]]) if "gamma" in own else None,
        attributes={"at_home": np.array(at_home, np.float64)},
    )


def _listed(chances: Sequence[float]) -> str:
    """Return the chances of a few teams in short."""
    shown = ", ".join(f"{one:.3f}" for one in chances[:4])
    return shown if len(chances) <= 4 else f"{shown}, ... ({len(chances):,} teams)"
