"""Plain files as people have them: `rate`, `performance` and `inspect` read each of them alike.

Three players, one game a round: ann beats bob, cyd and ann draw, bob beats cyd. Whoever has no game
in a round has a bye, where the format can say so.
"""

from __future__ import annotations

import io

import polars as pl
import pytest

from cli.command_line import Cli, Write
from equipoise.formats import write_table
from formats.reading_games import player_line, report
from formats.test_frames import bytes_of

LIST = pl.read_csv(
    b"round,date,white,black,result,white_elo,black_elo\n"
    b"1,2024-05-01,ann,bob,1-0,1500,1400\n1,2024-05-01,cyd,bye,1,1600,\n"
    b"2,2024-05-02,cyd,ann,1/2-1/2,1600,1500\n2,2024-05-02,bob,bye,1,1400,\n"
    b"3,2024-05-03,bob,cyd,1-0,1400,1600\n3,2024-05-03,ann,bye,1,1500,\n"
)
GAMES = LIST.filter(pl.col("black") != "bye")
HOME = (
    "Date,HomeTeam,AwayTeam,FTHG,FTAG\n2024-05-01,ann,bob,2,0\n2024-05-02,cyd,ann,1,1\n"
    "2024-05-03,bob,cyd,3,1\n"
)
LONG = pl.read_csv(
    b"match,date,player,rank,rating\n1,2024-05-01,ann,1,1500\n1,2024-05-01,bob,2,1400\n"
    b"2,2024-05-02,cyd,1,1600\n2,2024-05-02,ann,1,1500\n3,2024-05-03,bob,1,1400\n"
    b"3,2024-05-03,cyd,2,1600\n"
)
PAIRS = GAMES.select("round", player="white", opponent="black", points=pl.Series([1.0, 0.5, 1.0]))
CROSS = "no,name,elo,1,2,3,points\n1,ann,1500,X,1,=,1.5\n2,bob,1400,0,X,1,1\n3,cyd,1600,=,0,X,0.5\n"


def pgn(*tags: str, games: pl.DataFrame = GAMES) -> str:
    """Return games with these tags and those of every game."""
    texts = []
    for row in games.to_dicts():
        result = {"1": "1-0"}.get(row["result"], row["result"])
        values = {"Event": "Club cup", "Site": "?", "Date": row["date"].replace("-", ".")}
        values |= {"Round": row["round"], "White": row["white"], "Black": row["black"]}
        values |= {"Result": result, "WhiteElo": row["white_elo"], "BlackElo": row["black_elo"]}
        named = (*tags, "White", "Black", "Result")
        head = "".join(f'[{name} "{values[name] or ""}"]\n' for name in named)
        texts.append(f"{head}\n1. e4 e5 {result}\n\n")
    return "".join(texts)


SEVEN = ("Event", "Site", "Date", "Round")
REPORT = report(
    "042 2024/05/01",
    "132".ljust(91) + "24/05/01  24/05/02  24/05/03",
    player_line(1, ["   2 w 1", "   3 b =", "0000 - U"], name="ann", rating="1500", points="2.5"),
    player_line(2, ["   1 b 0", "0000 - U", "   3 w 1"], name="bob", rating="1400", points="2.0"),
    player_line(3, ["0000 - H", "   1 w =", "   2 b 0"], name="cyd", rating="1600", points="1.0"),
)
FILES: dict[str, str | bytes | pl.DataFrame] = {
    "byes.csv": LIST,
    "byes.json": LIST,
    "byes.pgn": pgn(*SEVEN, "WhiteElo", "BlackElo", games=LIST),
    "dates.csv": GAMES.select("date", "white", "black", "result"),
    "days.csv": GAMES.drop("round"),
    "home.csv": HOME,
    "rounds.csv": GAMES.drop("date"),
    "rounds.jsonl": GAMES,
    "rounds.parquet": GAMES,
    "rounds.tsv": GAMES.select("round", "white", "black", "result"),
    "results.csv": GAMES.select("white", "black", "result"),
    "results.xlsx": bytes_of(Games=[GAMES.columns, *map(list, GAMES.rows())]),
    "semicolons.csv": GAMES.rename({"round": "Rd.", "result": "Res.", "white_elo": "Elo 1"})
    .select("Rd.", "white", "Res.", "black")
    .write_csv(separator=";"),
    "seven.pgn": pgn(*SEVEN),
    "rounds.pgn": pgn("Event", "Round", "WhiteElo", "BlackElo"),
    "dates.pgn": pgn("Date"),
    "bare.pgn": pgn(),
    "cup.trf": REPORT,
    "undated.trf": report(*REPORT.splitlines()[3:]),
    "cross.csv": CROSS,
    "halves.tsv": "player\tann\tbob\tcyd\nann\t\t1\t½\nbob\t\t\t1\ncyd\t\t\t\n",
    "pairs.csv": PAIRS,
    "long.csv": LONG,
    "long.json": LONG,
    "long.parquet": LONG.with_columns(pl.col("date").str.to_date()),
    "scores.csv": LONG.select("match", "player", score=3 - pl.col("rank")),
    "contests.jsonl": "".join(
        f'{{"name": "m{at}", "time_seconds": {1_700_000_000 + at}, "standings": {rows}}}\n'
        for at, rows in enumerate(
            (
                '[["ann", 0, 0], ["bob", 1, 1]]',
                '[["cyd", 0, 1], ["ann", 0, 1]]',
                '[["bob", 0, 0], ["cyd", 1, 1]]',
            )
        )
    ),
}
RATINGS = {"ann": 1516.0, "bob": 1500.0, "cyd": 1484.0}


@pytest.mark.parametrize("name", FILES)
def test_every_command_reads_an_everyday_file(name: str, write: Write, cli: Cli) -> None:
    """Matches, ratings and points are those of all the other files, whose games are the same."""
    content = FILES[name]
    if isinstance(content, pl.DataFrame):
        target = io.BytesIO()
        write_table(content, target, format=name.partition(".")[2])
        content = target.getvalue()
    path = write(name, content)
    rated = cli.json("rate", path, "--system", "elo")
    assert rated["summary"]["matches"] == 3
    found = {one["player"]: one["rating"] for one in rated["ratings"]}
    assert found == pytest.approx(RATINGS, abs=1.5)
    played = cli.json("performance", path)
    points = {one["player"]: one["points"] for one in played["players"]}
    assert (played["exists"], points) == (True, {"ann": 1.5, "bob": 1.0, "cyd": 0.5})
    inspected = cli.json("inspect", path)
    assert (inspected["ready"], inspected["contents"]["matches"]) == (True, 3)
