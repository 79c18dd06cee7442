"""The one dictionary of the names of columns: what a table may call what its columns mean.

Capitals, spaces, underscores, hyphens and full stops do not matter, so names are compared in the
form that `table.spelling` gives them. `meanings` looks the columns of a table up.
"""

from __future__ import annotations

from equipoise.data.history import OF_MATCHES
from equipoise.formats.table import spelling

#: Columns that have a meaning, in the order of the documentation.
CANONICAL = (
    "match",
    "time",
    "player",
    "team",
    "rank",
    "winner",
    "weight",
    "performance_ceiling",
    "beta",
    "gamma",
    "rated",
    "share",
    "performance",
)
#: Columns that the reader keeps as they are, and that some systems use.
KEPT = (
    "side",
    "at_home",
    "role",
    "context",
    "event",
    "birth_year",
    "games_before",
    "events_before",
    "handicap",
)
#: Other names of the columns of a history. The reference page on tables lists them.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "match": (
        "match_id",
        "match_number",
        "match_no",
        "contest",
        "contest_id",
        "game",
        "game_id",
        "race",
        "race_id",
    ),
    "time": (
        "date",
        "datetime",
        "timestamp",
        "played_at",
        "played_on",
        "match_date",
        "game_date",
        "contest_date",
        "race_date",
        "start_time",
        "started_at",
        "utc_date",
    ),
    "player": (
        "player_name",
        "player_id",
        "name",
        "username",
        "user",
        "user_id",
        "handle",
        "nickname",
        "participant",
        "participant_name",
        "participant_id",
        "competitor",
        "contestant",
        "athlete",
        "driver",
    ),
    "team": ("team_name", "team_id"),
    "rank": (
        "ranking",
        "position",
        "pos",
        "place",
        "placement",
        "placing",
        "standing",
        "finish",
        "finishing_position",
        "final_rank",
    ),
    "winner": ("winning_team", "winner_name", "winner_id"),
}
#: Names of columns that may be the time, but also another one: of a row, or of a whole tournament.
OTHER_TIMES = (
    "created_at",
    "tourney_date",
    "start_date",
    "end_date",
    "updated_at",
    "submitted_at",
)
#: Those of them that have the first day of a tournament, on all of its matches.
TOURNAMENT_DAYS = ("tourneydate",)
#: Words for rounds, without capitals and signs -> place in a tournament; a round of n is at
#: -log2 n.
ROUND_WORDS = {
    **{f"q{number}": -90.0 + number for number in range(1, 5)},
    **dict.fromkeys(("er", "earlyround"), -60.0),
    **dict.fromkeys(("rr", "roundrobin"), -8.0),
    **dict.fromkeys(("qf", "quarterfinal", "quarterfinals"), -3.0),
    **dict.fromkeys(("sf", "semifinal", "semifinals"), -2.0),
    **dict.fromkeys(("br", "bronze", "thirdplace", "3rdplace"), -1.0),
    **dict.fromkeys(("f", "final", "thefinal"), 0.0),
}
#: Columns that are recognised by their own name only, in any spelling.
_SPELLED = ("score", *OF_MATCHES, "rated", "share", "performance", *KEPT)
KNOWN = (*CANONICAL, *(name for name in _SPELLED if name not in CANONICAL))
#: A table needs one of these, beside `match` and `player`.
DECIDING = ("rank", "winner", "score")
#: Columns that may decide the places, but in more than one way.
UNDECIDED = ("points", "pts", "result", "outcome", "goals", "wins", "total")
#: Columns of dates beside which a column `time` has clock times.
DATES = ("date", "matchdate", "gamedate", "utcdate")
#: Columns in which every player of a match has won, lost or drawn.
OUTCOMES = ("result", "outcome")

#: Columns of the two sides, in the spelling of `spelling`, and whether the first has the white
#: pieces or plays at home.
SIDES: tuple[tuple[str, str, bool], ...] = (
    ("white", "black", True),
    ("whiteplayer", "blackplayer", True),
    ("whitename", "blackname", True),
    ("whiteid", "blackid", True),
    ("whiteusername", "blackusername", True),
    ("home", "away", True),
    ("hometeam", "awayteam", True),
    ("home", "visitor", True),
    ("home", "guest", True),
    ("player1", "player2", False),
    ("playera", "playerb", False),
    ("modela", "modelb", False),
    ("left", "right", False),
)
#: More columns of two sides, for tables that are not a history or a table of pairs as well.
MORE_SIDES: tuple[tuple[str, str, bool], ...] = (
    ("hometeamname", "awayteamname", True),
    ("hometeamid", "awayteamid", True),
    ("homename", "awayname", True),
    ("homeplayer", "awayplayer", True),
    ("team1", "team2", False),
    ("teama", "teamb", False),
    ("team1name", "team2name", False),
    ("player1name", "player2name", False),
    ("player1id", "player2id", False),
)
#: Columns of two sides of which the first has won every game.
DECIDED: tuple[tuple[str, str, bool], ...] = (
    ("winner", "loser", False),
    ("winnername", "losername", False),
    ("winnerid", "loserid", False),
    ("winningteam", "losingteam", False),
)
#: Names of a time, the likeliest first: those of games, and those that histories have as well.
_TIMES = tuple(
    dict.fromkeys(
        ("time", "date", "utcdate", "tstamp", *(spelling(spelled) for spelled in SYNONYMS["time"]))
    )
)
#: Other columns of a list of games; the first spelling found is used.
OF_GAMES: dict[str, tuple[str, ...]] = {
    "result": ("result", "res", "winner", "outcome", "score"),
    "points": ("points", "whitepoints"),
    "games": ("games",),
    "draws": ("draws",),
    "white_elo": (
        "whiteelo",
        "whiterating",
        "homeelo",
        "homerating",
        "player1rating",
        "playerarating",
        "modelarating",
    ),
    "black_elo": (
        "blackelo",
        "blackrating",
        "awayelo",
        "awayrating",
        "player2rating",
        "playerbrating",
        "modelbrating",
    ),
    "weight": ("weight",),
    "round": ("round", "rd"),
    "time": _TIMES,
}
#: Columns of a table of pairs.
OF_PAIRS: dict[str, tuple[str, ...]] = {
    "player": ("player",),
    "opponent": ("opponent",),
    "points": ("points", "score"),
    "games": ("games", "weight"),
    "draws": ("draws",),
    "wins": ("wins",),
    "losses": ("losses",),
    "result": ("result", "outcome"),
    "player_rating": ("playerrating", "playerelo", "rating", "elo"),
    "opponent_rating": ("opponentrating", "opponentelo"),
    "time": _TIMES,
}
ALL_SIDES = (*SIDES, *MORE_SIDES, *DECIDED)
#: All names that a renamed column may have.
MEANINGS = (*OF_GAMES, *OF_PAIRS, *(name for side in ALL_SIDES for name in side[:2]))
#: Names of the two sides of a match with scores, without "score": homescore, home_goals.
SCORE_STEMS = {
    **dict.fromkeys(("hometeam", "hometeamid", "hometeamname"), "home"),
    **dict.fromkeys(("awayteam", "awayteamid", "awayteamname"), "away"),
}
SCORES = ("score", "goals")
#: More names of scores, for tables without a result: home_points, score1, scoreHome, sets1. White's
#: points are a result.
MORE_SCORES = ("score", "goals", "points", "pts", "sets")
#: Scores such as 2-1 at full time, for tables that have no other result.
FULL_TIME = ("ft", "scoreft")
#: Short names in collections of football results: FTHG are the home goals at full time.
SHORT_SCORES = {
    "home": ("fthg", "hgoal", "hg", "scorefulltimehome"),
    "away": ("ftag", "agoal", "ag", "scorefulltimeaway"),
    "visitor": ("vgoal", "vg"),
}
#: Columns of a history that say who has white or plays at home, and those that have ratings.
AT_HOME = ("at_home", "home", "side", "color", "colour")
RATINGS_OF_ROWS = ("rating", "elo")

#: Spellings of columns that can have only one meaning in a table of players with ratings.
OF_PLAYERS: dict[str, tuple[str, ...]] = {
    "player": (
        *("player", "name", "playername", "username", "user", "handle", "nickname", "account"),
        *("playerid", "userid", "id", "fullname", "team", "club", "model"),
    ),
    "rating": (
        *("rating", "elo", "elorating", "rtg", "mmr", "glicko", "currentrating", "newrating"),
        *("standard", "standardrating", "srtng", "stdrating", "ratingmean"),
    ),
    "deviation": ("deviation", "rd", "ratingdeviation", "sigma", "standarddeviation"),
}
#: Spellings of which a table of players has one of the first and of the last two, and none of the
#: others: it has neither matches nor games.
PLAYERS = frozenset(("player", "name", "username", "team"))
PLAYER_RATINGS = frozenset(("rating", "elo"))
PLAYER_TOTALS = frozenset(("points", "pts", "total", "wins"))
OF_MATCHES_ONLY = frozenset(
    ("match", "opponent", "white", "black", "home", "away", "rank", "winner", "score")
)

#: Columns of a cross table, in small letters: they are not those of an opponent.
OF_CROSS_TABLES: dict[str, tuple[str, ...]] = {
    "player": ("player", "name", "players"),
    "rating": ("rating", "elo", "rtg"),
    "number": ("no", "no.", "nr", "nr.", "number", "#"),
    "total": ("points", "pts", "pts.", "total", "score", "sum"),
}

#: Columns that every one of several files must have if one has them, because missing values mean
#: something there: no winner is a draw.
OF_EVERY_FILE = frozenset(
    (
        *(column for side in SIDES for column in side[:2]),
        *(name for names in (*OF_GAMES.values(), *OF_PAIRS.values()) for name in names),
        *(spelling(name) for names in SYNONYMS.values() for name in names),
        *(spelling(name) for name in KNOWN),
        *("homescore", "awayscore", "homegoals", "awaygoals"),
        *("hometeamscore", "awayteamscore", "hometeamgoals", "awayteamgoals", "neutral"),
    )
)
