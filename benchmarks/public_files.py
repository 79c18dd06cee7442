"""What do `rate`, `backtest` and `performance` make of public files, as their users find them?

Every file is named by repository, path and the hash of its content (a Git blob), and is not part of
this project. Each goes through the three commands as it is and, if `rate` refuses it, with options
that its columns need. `rate` and `backtest` use elo.

Run: python benchmarks/public_files.py FOLDER --clones CLONES
FOLDER gets the files. CLONES has clones of the repositories, named OWNER+NAME (a clone, a bare one,
or a folder with one called repo): git clone https://github.com/OWNER/NAME CLONES/OWNER+NAME. Files
that are in FOLDER already need no clone. A file whose hash is another is not used.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import subprocess
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from equipoise.cli import run
from report import Part, report_parts


class PublicFile(NamedTuple):
    """A file of a public repository.

    kind : of what it holds
    name : under which it is kept, which begins with a word that is its own
    options : with which it should be read if it is not read as it is
    """

    kind: str
    name: str
    repository: str
    path: str
    blob: str
    options: tuple[str, ...] = ()


def _columns(*pairs: str) -> tuple[str, ...]:
    return tuple(word for pair in pairs for word in ("--column", pair))


_SOCCER = "jalapic/engsoccerdata"
_PAIRINGS = "BieremaBoyzProgramming/bbpPairings"
_CHESS = "niklasf/python-chess"
_FOOTBALL_DATA = _columns("time=Date")
_FORMULA = (*_columns("match=Track", "player=Driver", "rank=Position"), "--skip-bad=rows")

FILES = (
    PublicFile(
        "PGN",
        "rapid.pgn",
        "lichess-org/scalachess",
        "test-kit/src/test/resources/FWWRC.pgn",
        "7a0c7e2a8f883eac1ad96c7b4d9214628becb7e8",
    ),
    PublicFile(
        "PGN",
        "uzchess.pgn",
        "lichess-org/scalachess",
        "test-kit/src/test/resources/uzchesscup.pgn",
        "d5707182a1e9edd404fb7eb3db7310ca0a930ee8",
    ),
    PublicFile(
        "PGN",
        "deepblue.pgn",
        _CHESS,
        "data/pgn/kasparov-deep-blue-1997.pgn",
        "7b5fcf0b0d5fc3afb9a4d5588cc386a25b9ddda9",
    ),
    PublicFile(
        "PGN",
        "cutechess.pgn",
        _CHESS,
        "data/pgn/cutechess-fischerrandom.pgn",
        "2fdbd09feef70565f78007f01d1dbf594f1831eb",
    ),
    PublicFile(
        "TRF",
        "autotest14.trf",
        _PAIRINGS,
        "test/tests/issue_7.input",
        "179038e83344270f80984a91fef40228f53e46aa",
    ),
    PublicFile(
        "TRF",
        "issue15.trf",
        _PAIRINGS,
        "test/tests/issue_15.input",
        "3f82050835cf42674845fc7e47c6cf7b43a5dee5",
    ),
    PublicFile(
        "TRF",
        "dutch.input",
        _PAIRINGS,
        "test/tests/dutch_2025_C5.input",
        "e48b6ca495a987439bb40fd17c94d79c21ff0100",
        ("--format", "trf"),
    ),
    PublicFile(
        "two players and a result",
        "lichess.csv",
        "Aaron-Gregory/ChessDatasetExploration",
        "data/chess_games.csv",
        "de4b1b439f4ed3ed4dd82b05e581ceb0431f5866",
        ("--skip-bad",),
    ),
    PublicFile(
        "two players and a result",
        "atp1980.csv",
        "JeffSackmann/tennis_atp",
        "atp_matches_qual_chall_1980.csv",
        "9b0ce82670fc8233352f2a2b3f1a29b56c4932c5",
    ),
    PublicFile(
        "two players and a result",
        "food.csv",
        "dustalov/evalica",
        "food.csv",
        "a91d2076fb2d343317ad775b92cce66a7da8b0ed",
    ),
    PublicFile(
        "home and away with scores",
        "national.csv",
        "martj42/international_results",
        "results.csv",
        "51317f22619a3bb4a2003faf3407f3f9e6c9eb56",
    ),
    PublicFile(
        "home and away with scores",
        "belgium.csv",
        _SOCCER,
        "data-raw/belgium.csv",
        "949da4ac0a95ec17ffa883b7b497553c9ec38a96",
    ),
    PublicFile(
        "home and away with scores",
        "champs.csv",
        _SOCCER,
        "data-raw/champs.csv",
        "604c953a8d04dbaf742a1ce6fd43affa72227f2f",
    ),
    PublicFile(
        "home and away with scores",
        "premier2024.csv",
        "rsekwane/epl-betway-project",
        "data/epl_matches.csv",
        "0133a22f7298864e8a3cf4e70c2830e74ef04f18",
        (*_FOOTBALL_DATA, "--time-format", "%d/%m/%Y"),
    ),
    PublicFile(
        "home and away with scores",
        "premier2018.csv",
        "footballcsv/england",
        "2010s/2018-19/eng.1.csv",
        "1cb1e089ef98197f8536933e4261621b0f5299b5",
        _columns("home=Team 1", "away=Team 2", "result=FT"),
    ),
    PublicFile(
        "home and away with scores",
        "premier2019.json",
        "openfootball/football.json",
        "2019-20/en.1.json",
        "f1af09cf49fb2ac69d17acfe76c030c67ae9c1dc",
    ),
    PublicFile(
        "long table",
        "formula1-2021.csv",
        "toUpperCase78/formula1-datasets",
        "formula1_2021season_raceResults.csv",
        "108fc6ee736577a50bcb5e3ec1bf080423e55759",
        _FORMULA,
    ),
    PublicFile(
        "long table",
        "formula1-2024.csv",
        "toUpperCase78/formula1-datasets",
        "Formula1_2024season_raceResults.csv",
        "8227852afed2be893d9cc56c393f850e3131a82d",
        _FORMULA,
    ),
    PublicFile(
        "arena",
        "llmfao.csv",
        "dustalov/evalica",
        "llmfao.csv",
        "60cf9b89bc848d14e93128963e7e8b67a2c1e102",
    ),
    PublicFile(
        "arena",
        "crs-closed.csv",
        "hideaki-j/crs-arena-dialogues",
        "data/votes_closed.csv",
        "7fe77a2a058b2580a3685cb175279c6750783baf",
        _columns("model_a=crs1", "model_b=crs2", "winner=vote"),
    ),
    PublicFile(
        "arena",
        "crs-open.csv",
        "hideaki-j/crs-arena-dialogues",
        "data/votes_open.csv",
        "d2221577e38ac16104b6fb5ef4c039bcf3daef38",
        _columns("model_a=crs1", "model_b=crs2", "winner=vote"),
    ),
    PublicFile(
        "workbook",
        "kings.xlsx",
        "AGraciaSipan/kings-league",
        "data/matches.xlsx",
        "b1d8293a1ac2edffa2dd4b11849cb78aa3f318aa",
        _columns(
            "home=home_team_id",
            "away=away_team_id",
            "home_score=home_goals",
            "away_score=away_goals",
        ),
    ),
    PublicFile(
        "workbook",
        "bundesliga.xlsx",
        "janick3110/BuLiPredictor",
        "data/games.xlsx",
        "793483712c632563851e44a0c0983e13e316a61e",
        _columns("home=Team 1", "away=Team 2", "home_score=Home", "away_score=Guest"),
    ),
    PublicFile(
        "workbook",
        "tennis2001.xls",
        "Tensor-Reloaded/Tennis-Betting",
        "data/tennis-data.co.uk/2001.xls",
        "0f24b506193c634a66225ff3ef226f006764728c",
    ),
)

#: Options of the commands that keep them quick.
_COMMANDS = {
    "rate": ("--system", "elo"),
    "backtest": ("--system", "elo", "--resamples", "0"),
    "performance": (),
}
_LETTERS = 260


class Outcome(NamedTuple):
    """What a command said: exit status (-1 for a traceback), lines, and seconds."""

    status: int
    told: list[str]
    seconds: float


def main() -> int:
    """Run the commands on the files, print and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--clones", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files: list[tuple[str, ...]] = []
    parts: list[Part] = []
    for number, one in enumerate(FILES, start=1):
        data = _content(one, given.folder, given.clones)
        if data is None:
            files.append((str(number), one.kind, _where(one), one.blob[:12], "not here", "", ""))
            continue
        (given.folder / one.name).write_bytes(data)
        results, note = _tried(one, given.folder)
        words = [_in_words(results[command]) for command in _COMMANDS]
        files.append((str(number), one.kind, _where(one), blob_of(data)[:12], *words))
        parts.append(Part(f"{number}. {_where(one)}", ("command", "what it said"), note))
    columns = ("", "kind", "file", "blob", *_COMMANDS)
    report_parts("public_files", __doc__ or "", [Part("", columns, files), *parts])
    return 0


def blob_of(data: bytes) -> str:
    """Return the name that Git gives to this content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _where(one: PublicFile) -> str:
    return f"{one.repository}: {one.path}"


def _content(one: PublicFile, folder: Path, clones: Path | None) -> bytes | None:
    """Return the content of a file from the folder or a clone, None if neither has it."""
    kept = folder / one.name
    if kept.exists() and blob_of(kept.read_bytes()) == one.blob:
        return kept.read_bytes()
    if clones is None:
        return None
    clone = clones / one.repository.replace("/", "+")
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    done = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "blob", one.blob], capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def _tried(one: PublicFile, folder: Path) -> tuple[dict[str, Outcome], list[tuple[str, str]]]:
    """Return the outcomes, and rows of what was said: as it is, and if refused with options."""
    path = str(folder / one.name)
    outcomes, rows = {}, []
    for command, usual in _COMMANDS.items():
        found = _run([command, path, *usual])
        rows.append((command, _told(found, folder)))
        if found.status and one.options:
            options = list(one.options)
            if command == "performance":
                options = [word.replace("--skip-bad=rows", "--skip-bad") for word in options]
            again = _run([command, path, *usual, *options])
            rows.append((f"{command} {' '.join(_quoted(options))}", _told(again, folder)))
            found = again._replace(told=["with options", *again.told])
        outcomes[command] = found
    return outcomes, rows


def _quoted(words: list[str]) -> Iterator[str]:
    for word in words:
        yield f'"{word}"' if " " in word else word


def _run(arguments: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    started = time.perf_counter()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(arguments)
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        traceback.print_exc(file=err)
        status = -1
    skipped = ("compiling", "Compil", "read 0", "wrote")
    told = [line for line in err.getvalue().splitlines() if not line.startswith(skipped)]
    return Outcome(status, told, time.perf_counter() - started)


def _told(found: Outcome, folder: Path) -> str:
    """Return the notes of an answer, or the beginning of the message."""
    text = " / ".join(line.strip() for line in found.told[:6]).replace("|", r"\|")
    text = text.replace(f"{folder}/", "")
    return text if len(text) <= _LETTERS else text[:_LETTERS] + " ..."


def _in_words(found: Outcome) -> str:
    if found.status < 0:
        return "TRACEBACK"
    if found.status:
        return "refused"
    return "read with options" if found.told[:1] == ["with options"] else "read"


if __name__ == "__main__":
    raise SystemExit(main())
