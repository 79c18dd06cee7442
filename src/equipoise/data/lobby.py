"""A lobby, the players who wait to be split into teams, and the result of balancing it.

`Lobby` holds the players with their ratings and constraints: parties, locks and avoid pairs.
`Balance` holds the teams, how fair they are, and what each constraint cost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from equipoise.arguments import as_array, check_values, checks_arguments
from equipoise.arrays import Floats, Ids, Ints
from equipoise.data.games import id_array
from equipoise.data.outlook import TeamModel
from equipoise.data.ratings import Ratings
from equipoise.display import (
    SHOWN_ROWS,
    Displayed,
    Tabular,
    name_in_words,
    names_in_words,
    table_html,
)
from equipoise.errors import InvalidDataError, NotFoundError, Problem, require
from equipoise.wording import counted, did_you_mean

if TYPE_CHECKING:
    import polars as pl

#: An id as it came: int or str.
Id: TypeAlias = int | str
#: The ids of every team.
Teams: TypeAlias = tuple[tuple[Id, ...], ...]
#: What a constraint requires: the top players in different teams, the top player in a smaller
#: team, a party together, a locked player in its team, two players in different teams.
ConstraintKind: TypeAlias = Literal["top-two", "uneven", "party", "lock", "avoid"]
#: What a split makes small. "chance": the highest minus the lowest chance to win of a team, as the
#: system of the players predicts them. "mean": J of [TG2]_ (48). "sum": the largest difference of
#: the sums of effective ratings.
Objective: TypeAlias = Literal["chance", "mean", "sum"]
#: A constraint that costs less than this is called free of cost.
NO_COST: dict[Objective, float] = {"chance": 5e-5, "mean": 5e-3, "sum": 5e-3}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Split(Displayed):
    """One way to make teams of a lobby.

    teams : ids; teams are in the order of their best players, and players of a team the best first
    objective : the minimised number: a difference of chances, from 0 to 1, or rating points; by
      mean ratings, rating_difference + weight x deviation_difference
    rating_difference : of the mean effective ratings of the two teams that differ most
    deviation_difference : of the uncertainties of the same two teams

    Examples
    --------
    >>> lobby = eq.Lobby(player_ids=["ann", "ben", "cid", "dee"], rating=[1700, 1500, 1400, 1650])
    >>> best = eq.balance(lobby).best
    >>> best.teams, best.rating_difference
    ((('ann', 'cid'), ('dee', 'ben')), 25.0)
    """

    teams: Teams
    objective: float
    rating_difference: float
    deviation_difference: float

    def _in_words(self) -> str:
        digits = 2 if self.objective >= 1.0 else 4
        return f"{teams_in_words(self.teams)}; objective {self.objective:,.{digits}f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A constraint, whether it was kept, and what keeping it cost.

    kind : what it requires
    players : ids of the players it concerns, best first: the top players, the top player, the
        members of the party, the locked player, or the two who avoid each other
    label : the name of the party, or of the team that the player is locked to; None otherwise
    status : "waived" if parties, locks and avoid pairs make it impossible to keep
    objective_without : the least objective without this constraint; None if not searched

    Examples
    --------
    >>> lobby = eq.Lobby(player_ids=["ann", "ben", "cid", "dee"], rating=[1700, 1500, 1400, 1650])
    >>> teams = eq.balance(lobby)
    >>> [(one.name, one.status) for one in teams.constraints]
    [('top-two', 'held')]
    """

    kind: ConstraintKind
    players: tuple[Id, ...]
    label: str | None = None
    status: Literal["held", "waived"]
    objective_without: float | None

    @property
    def name(self) -> str:
        """Text for users and logs: "top-two", "uneven", "party:NAME", "lock:PLAYER", "avoid:A;B".

        Ids may contain these separators: read `kind`, `players` and `label` instead of parsing it.
        """
        if self.kind == "party":
            return f"party:{self.label}"
        if self.kind in ("lock", "avoid"):
            return f"{self.kind}:{';'.join(str(player) for player in self.players)}"
        return self.kind


def teams_in_words(teams: Sequence[Sequence[Id]]) -> str:
    """Return the number of teams, their sizes, and the first players, for a line of text."""
    first = " / ".join(names_in_words(team, 2) for team in teams[:2])
    return f"{sizes_in_words(teams)}: {first}"


def sizes_in_words(teams: Sequence[Sequence[Id]]) -> str:
    """Return the number of teams and the first sizes: "2 teams of 5 + 5"."""
    sizes = [len(team) for team in teams]
    more = " ..." if len(sizes) > 4 else ""
    return f"{counted(len(teams), 'team')} of {' + '.join(map(str, sizes[:4]))}{more}"


def teams_table(teams: Sequence[Sequence[Id]]) -> pl.DataFrame:
    """Return a table with one row for each player: team, numbered from 1, and player."""
    import polars as pl

    players = [player for team in teams for player in team]
    number = [at for at, team in enumerate(teams, start=1) for _ in team]
    whole = all(isinstance(player, int) for player in players)
    ids = pl.Series(players if whole else [str(player) for player in players])
    return pl.DataFrame({"team": pl.Series(number, dtype=pl.Int64), "player": ids})


def teams_html(teams: Sequence[Sequence[Id]], how: str, notes: Sequence[str]) -> str:
    """Return teams for a notebook, one row for each team with its players.

    how : how fair or even they are, in words
    """
    columns: dict[str, Sequence[object]] = {
        "team": range(1, len(teams) + 1),
        "players": [names_in_words(team, SHOWN_ROWS) for team in teams],
    }
    return table_html(f"{sizes_in_words(teams)}; {how}", columns, notes=notes)


def constraint_in_words(
    kind: str, players: Sequence[Id], label: str | None, teams: int
) -> list[tuple[str, bool]]:
    """Return what a constraint requires, as pieces of text in order.

    kind, players, label : as in `Constraint`; teams : number of teams
    Returns : (text, whether users wrote it) of every piece
    """
    if kind == "top-two":
        return [(f"the top {'two' if teams == 2 else teams} in different teams", False)]
    if kind == "uneven":
        return [("the top player in a smaller team", False)]
    if kind == "party":
        return [("party ", False), (str(label), True), (" together", False)]
    if kind == "lock":
        return [(str(players[0]), True), (" in team ", False), (str(label), True)]
    one, other = players
    return [(str(one), True), (" and ", False), (str(other), True), (" in different teams", False)]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Balance(Tabular):
    """The fairest split of a lobby, and the next best ones.

    best : the fairest split
    constraints : all constraints of the lobby and of the request
    alternatives : the next best splits, best first
    bound : no split has an objective below this one
    gap : objective - bound; 0: proved to be the fairest
    objective_kind : which objective was minimised
    compared : number of splits compared; None if the teams are from a search
    stopped : the time limit ended the search
    notes : further information for users, as sentences

    Examples
    --------
    >>> lobby = eq.Lobby(player_ids=["ann", "ben", "cid", "dee"], rating=[1700, 1500, 1400, 1650])
    >>> teams = eq.balance(lobby)
    >>> teams.teams
    (('ann', 'cid'), ('dee', 'ben'))
    >>> teams.head(2)["player"].to_list()
    ['ann', 'cid']
    """

    best: Split
    constraints: tuple[Constraint, ...]
    alternatives: tuple[Split, ...]
    bound: float
    gap: float
    objective_kind: Objective = "mean"
    compared: int | None = None
    stopped: bool = False
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player: team, numbered from 1, and player."""
        return teams_table(self.teams)

    def _in_words(self) -> str:
        return f"{teams_in_words(self.teams)}; {self._how_fair()}"

    def _how_fair(self) -> str:
        by_chance = self.objective_kind == "chance"
        gap = f"{self.gap:.1%}" if by_chance else f"{self.gap:,.2f}"
        sure = "proved to be the fairest" if self.gap == 0 else f"within {gap} of it"
        if by_chance:
            return f"win probabilities differ by {self.objective:.1%}, {sure}"
        return f"mean ratings differ by {self.rating_difference:,.2f}, {sure}"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: one row for each team."""
        return teams_html(self.teams, self._how_fair(), self.notes)

    @property
    def teams(self) -> Teams:
        """The ids of every team."""
        return self.best.teams

    @property
    def objective(self) -> float:
        """The minimised number, of the kind `objective_kind`."""
        return self.best.objective

    @property
    def rating_difference(self) -> float:
        """Difference of the mean effective ratings of the two teams that differ most."""
        return self.best.rating_difference

    @property
    def deviation_difference(self) -> float:
        """Difference of the uncertainties of the same two teams."""
        return self.best.deviation_difference


#: Largest rating and deviation; larger ones do not have digits for a billionth of a point.
LARGEST = 1e6

ONCE = "must be named once"
RATING = "must be a number from -1000000 to 1000000"
DEVIATION = "must be a number from 0 to 1000000"
IN_LOBBY = "must name other players of the lobby"
ONE_LOCK = "must be the same for all players of a party who are locked"
NOT_TOGETHER = "must not name a player of the same party or the same locked team"
TWO_PLAYERS = "must have at least two players"

#: Columns that may be given as lists or arrays of any kind, and the model.
_COLUMNS = {
    "player_ids": Collection[Any],
    "party": Collection[Any] | None,
    "team": Collection[Any] | None,
    "avoid": Collection[Collection[Any]],
    "newcomers": Collection[Any],
    "model": TeamModel | None,
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Lobby(Tabular):
    """N players, and who must or must not play together.

    player_ids : shape (N,), int64 or object (str), distinct
    rating : shape (N,), long-term rating, from -1e6 to 1e6
    deviation : shape (N,), from 0 to 1e6, rating points; by default 0 for all, and teams are
      balanced by rating alone
    effective_rating : shape (N,), the rating by which teams are balanced; None takes the rating
    party : shape (N,), label of the party, None for a player alone; None without parties
    team : shape (N,), label of the team that a player is locked to, None for a free player; players
      with the same label play together, players with different labels against each other
    avoid : pairs of ids who must not be in one team
    newcomers : ids of unknown players, who get the initial rating
    model : how the system that rated the players predicts teams; None without a system
    Raises : InvalidDataError   lists every rule that is broken; lines are rows from 1

    Examples
    --------
    >>> lobby = eq.Lobby(player_ids=["ann", "ben", "cid", "dee"], rating=[1700, 1500, 1400, 1650])
    >>> lobby
    <Lobby: 4 players, the top player ann>
    >>> lobby.head(1)["player"].to_list()
    ['ann']
    """

    player_ids: Ids
    rating: Floats
    deviation: Floats = field(default_factory=lambda: np.zeros(0))
    effective_rating: Floats | None = None
    party: Ids | None = None
    team: Ids | None = None
    avoid: tuple[tuple[Id, Id], ...] = ()
    newcomers: tuple[Id, ...] = ()
    model: TeamModel | None = None

    def __post_init__(self) -> None:
        """Convert columns of any kind to arrays, and check every rule."""
        check_values(_COLUMNS, {name: getattr(self, name) for name in _COLUMNS})
        for pair in self.avoid:
            require(len(pair) == 2, "avoid", "of pairs", pair)
        set_ = object.__setattr__
        set_(self, "player_ids", id_array(list(self.player_ids)))
        if np.size(self.deviation) == 0:
            set_(self, "deviation", np.zeros(len(self.player_ids)))
        if self.effective_rating is None:
            set_(self, "effective_rating", self.rating)
        for name in ("rating", "deviation", "effective_rating"):
            set_(self, name, as_array(name, getattr(self, name), np.float64))
        for name in ("party", "team"):
            if getattr(self, name) is not None:
                set_(self, name, _label_array(getattr(self, name)))
        set_(self, "avoid", tuple((one, other) for one, other in self.avoid))
        for column in fields(self):
            if isinstance(getattr(self, column.name), np.ndarray):
                getattr(self, column.name).setflags(write=False)
        problems = list(self._faults())
        if problems:
            raise InvalidDataError(problems, f"{counted(len(problems), 'problem')} in the lobby")

    @classmethod
    @checks_arguments()
    def from_ratings(cls, ratings: Ratings, players: Sequence[object]) -> Lobby:
        """Return the lobby of some players of a rating table.

        The effective rating is that of the system if it has one, else the rating. In a system
        without deviations, all players have deviation 0. Numeric ids may be given as text. A table
        does not know its system: `lobby_of` makes a lobby whose teams have chances to win.

        Raises : NotFoundError      players have no rating; the message names all of them
        Raises : InvalidDataError   a player is named twice, or fewer than two are named
        """
        row_of = {str(player): row for row, player in enumerate(ratings.player_ids.tolist())}
        missing = [str(player) for player in players if str(player) not in row_of]
        if missing:
            raise NotFoundError(
                f"not among the {counted(len(row_of), 'rated player')}: {', '.join(missing)}"
                f"{did_you_mean(missing, row_of)}"
            )
        rows = np.array([row_of[str(player)] for player in players], dtype=np.int64)
        effective = ratings.extra.get("effective_rating", ratings.rating)
        deviation = ratings.deviation
        if np.isnan(deviation).all():
            deviation = np.zeros(len(deviation))
        return cls(
            player_ids=ratings.player_ids[rows],
            rating=ratings.rating[rows],
            deviation=deviation[rows],
            effective_rating=effective[rows],
        )

    @property
    def players(self) -> int:
        """Number of players."""
        return len(self.player_ids)

    @property
    def strength(self) -> Floats:
        """The effective rating, by which teams are balanced, shape (N,)."""
        return self.rating if self.effective_rating is None else self.effective_rating

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row for each player, the top player first.

        `party` and `team` (the team that a player is locked to) are there if the lobby has them.
        """
        import polars as pl

        rows = self.order()
        columns: dict[str, Any] = {
            "player": self.player_ids[rows].tolist(),
            "rating": self.rating[rows],
            "deviation": self.deviation[rows],
            "effective_rating": self.strength[rows],
        }
        for name, labels in (("party", self.party), ("team", self.team)):
            if labels is not None:
                columns[name] = pl.Series(labels[rows].tolist(), dtype=pl.String)
        return pl.DataFrame(columns)

    def _in_words(self) -> str:
        top = name_in_words(self.player_ids[self.order()[0]])
        return f"{counted(self.players, 'player')}, the top player {top}"

    def order(self) -> Ints:
        """Return rows with the top player first: by effective rating, rating, id."""
        by_id = np.argsort(self.player_ids, kind="stable")
        by_rating = by_id[np.argsort(-self.rating[by_id], kind="stable")]
        return np.asarray(
            by_rating[np.argsort(-self.strength[by_rating], kind="stable")], dtype=np.int64
        )

    def avoid_rows(self) -> tuple[tuple[int, int], ...]:
        """Return the avoid pairs as rows, each pair once, the lower row first."""
        row_of = {str(player): row for row, player in enumerate(self.player_ids.tolist())}
        pairs = [(row_of[str(one)], row_of[str(other)]) for one, other in self.avoid]
        return tuple(dict.fromkeys((min(pair), max(pair)) for pair in pairs))

    def _faults(self) -> Iterator[Problem]:
        """Yield every rule that is broken."""
        shape = self.player_ids.shape
        for name in ("rating", "deviation", "effective_rating", "party", "team"):
            column = getattr(self, name)
            if column is not None and column.shape != shape:
                yield Problem("", None, name, f"must have shape {shape}", str(column.shape))
                return
        yield from lobby_faults(self)


def lobby_faults(lobby: Lobby) -> Iterator[Problem]:
    """Yield every rule of a lobby that columns of equal length break."""
    ids = [str(player) for player in lobby.player_ids.tolist()]
    if len(ids) < 2:
        yield Problem("", None, "player", TWO_PLAYERS, str(len(ids)))
    seen: set[str] = set()
    for row, player in enumerate(ids):
        if player in seen:
            yield Problem("", row + 1, "player", ONCE, repr(player))
        seen.add(player)
    reported = np.zeros(len(ids), dtype=bool)
    for name, low, rule in (
        ("rating", -LARGEST, RATING),
        ("effective_rating", -LARGEST, RATING),
        ("deviation", 0.0, DEVIATION),
    ):
        values = getattr(lobby, name)
        bad = ~((values >= low) & (values <= LARGEST))
        if name == "effective_rating":
            # Without this column it is the rating, whose problem is already reported.
            bad &= ~reported
        reported |= bad
        for row in np.flatnonzero(bad).tolist():
            yield Problem("", row + 1, name, rule, str(float(values[row])))
    yield from _lock_faults(lobby)
    yield from _avoid_faults(lobby, ids)


def _lock_faults(lobby: Lobby) -> Iterator[Problem]:
    """Yield players who are locked to a different team than a member of their party."""
    if lobby.party is None or lobby.team is None:
        return
    lock_of: dict[str, object] = {}
    for row, (party, team) in enumerate(
        zip(lobby.party.tolist(), lobby.team.tolist(), strict=True)
    ):
        if party is None or team is None:
            continue
        first = lock_of.setdefault(str(party), team)
        if str(first) != str(team):
            got = f"{team!r}, while party {party!r} is locked to {first!r}"
            yield Problem("", row + 1, "team", ONE_LOCK, got)


def _avoid_faults(lobby: Lobby, ids: Sequence[str]) -> Iterator[Problem]:
    """Yield avoid pairs that must stay together, or that do not name another player."""
    row_of = {player: row for row, player in enumerate(ids)}
    for one, other in lobby.avoid:
        a, b = row_of.get(str(one)), row_of.get(str(other))
        if a is None or b is None or a == b:
            got = repr(other if a is not None else one)
            row = a if a is not None else b
            yield Problem("", None if row is None else row + 1, "avoid", IN_LOBBY, got)
            continue
        for labels in (lobby.party, lobby.team):
            if labels is not None and labels[a] is not None and labels[a] == labels[b]:
                yield Problem("", a + 1, "avoid", NOT_TOGETHER, repr(other))
                break


def _label_array(labels: Iterable[Any]) -> Ids:
    """Return labels as text, None if there is none."""
    texts = [None if _absent(label) else str(label) for label in labels]
    array: Ids = np.full(len(texts), None, dtype=object)
    array[:] = texts
    return array


def _absent(label: Any) -> bool:
    # Only not-a-number differs from itself.
    return label is None or label == "" or bool(label != label)
