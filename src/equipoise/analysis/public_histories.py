"""Public histories of matches: where they can be had, under which licence, and how to read them.

Nothing is downloaded. The facts are those of the documents that `as_of` dates; the commands were
run on the files of that day, except where `checked` says what was tried instead.
"""

from __future__ import annotations

from difflib import get_close_matches

from equipoise.errors import InvalidParameterError
from equipoise.messages.histories import PublicHistory

PUBLIC_HISTORIES = (
    PublicHistory(
        name="football-internationals",
        what="Men's football internationals since 1872: 49,520 matches of 337 teams, with scores, "
        "venue and tournament",
        address="https://github.com/martj42/international_results",
        file="results.csv",
        format="CSV: date, home_team, away_team, home_score, away_score, tournament, city, "
        "country, neutral",
        size="3.7 MB",
        licence="CC0 1.0",
        as_of="2026-07-31",
        commands=[
            "equipoise rate results.csv --system elo --set learn_home_advantage=true",
            "equipoise backtest results.csv --system elo --system glicko2 --from 10%",
        ],
    ),
    PublicHistory(
        name="football-leagues",
        what="Five European football leagues by season since 1993: England, Spain, Italy, Germany, "
        "France",
        address="https://github.com/datasets/football-datasets",
        file="datasets/premier-league/season-2425.csv, and so on",
        format="CSV: Date, HomeTeam, AwayTeam, FTHG and FTAG (goals), and more",
        size="about 30 kB for each season",
        licence="ODC-PDDL 1.0 (public domain), as its README says",
        as_of="2026-06-23",
        commands=[
            "equipoise rate season-2425.csv --system elo --column time=Date --column home=HomeTeam "
            "--column away=AwayTeam --column home_score=FTHG --column away_score=FTAG",
        ],
    ),
    PublicHistory(
        name="tennis-atp",
        what="Men's tennis since 1968, a file for each year: tour, challengers, futures, doubles",
        address="https://github.com/JeffSackmann/tennis_atp",
        file="atp_matches_2023.csv (2,986 matches), and so on",
        format="CSV: winner_name, loser_name, tourney_date (first day of the tournament), and more",
        size="about 0.6 MB for each year",
        licence="CC BY-NC-SA 4.0: name Jeff Sackmann / Tennis Abstract; not for commercial use",
        as_of="2024-12-30",
        commands=[
            "equipoise rate atp_matches_2023.csv --system glicko2 --column model_a=winner_name "
            "--column model_b=loser_name --column winner=winner_name --column time=tourney_date",
        ],
    ),
    PublicHistory(
        name="lichess-games",
        what="All rated games of Lichess since 2013, a file for each month",
        address="https://database.lichess.org/#standard_games",
        file="lichess_db_standard_rated_2013-01.pgn.zst (121,332 games), and so on",
        format="PGN, compressed with zstd (the extra zstd, before Python 3.14); about 7 times "
        "larger without",
        size="16 MB for the first month, much more for later ones",
        licence="CC0",
        as_of="2026",
        checked="on games like the example on its page",
        commands=[
            "equipoise rate lichess_db_standard_rated_2013-01.pgn.zst --system lichess",
        ],
    ),
    PublicHistory(
        name="lichess-broadcasts",
        what="Tournaments of chess that Lichess has broadcast, a file for each month",
        address="https://database.lichess.org/#broadcasts",
        file="lichess_db_broadcast_2026-02.pgn.zst (19,752 games), and so on",
        format="PGN, compressed with zstd (the extra zstd, before Python 3.14); the tag "
        "BroadcastName has the tournament",
        size="given on its page",
        licence="CC BY-SA 4.0, other than the games played on Lichess",
        as_of="2026",
        checked="on games like the example on its page",
        commands=[
            "equipoise rate lichess_db_broadcast_2026-02.pgn.zst --system elo",
        ],
    ),
    PublicHistory(
        name="codeforces",
        what="Contests of Codeforces, thousands of players in each",
        address="https://codeforces.com/apiHelp",
        file="one document for each contest: "
        "https://codeforces.com/api/contest.standings?contestId=566, and so on, at most one "
        "request in two seconds",
        format="JSON of the method contest.standings",
        size="not stated",
        licence="not stated there; see the terms of the site",
        as_of="2026",
        checked="on documents of the same form",
        commands=[
            "equipoise rate contests --format codeforces --system elo-mmr",
        ],
    ),
    PublicHistory(
        name="chatbot-arena",
        what="33,000 votes between answers of 20 language models, April to June 2023",
        address="https://huggingface.co/datasets/lmsys/chatbot_arena_conversations",
        file="data/train-*.parquet",
        format="Parquet: model_a, model_b, winner, language, tstamp, and the conversations, which "
        "are left out",
        size="42 MB",
        licence="Creative Commons, as its page says; its conditions must be accepted first",
        as_of="2023-09",
        checked="on a table of the same columns",
        commands=[
            "equipoise rate train.parquet --system bradley-terry --column time=tstamp",
        ],
    ),
)


def public_histories(name: str | None = None) -> list[PublicHistory]:
    """Return the public histories, or the one of a name. Raises : InvalidParameterError."""
    if name is None:
        return list(PUBLIC_HISTORIES)
    found = [one for one in PUBLIC_HISTORIES if one.name == name]
    if not found:
        names = [one.name for one in PUBLIC_HISTORIES]
        near = get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidParameterError(
            f"no public history {name!r}; there are {', '.join(names)}{hint}"
        )
    return found
