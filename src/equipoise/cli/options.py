"""Options that several commands share, and what they mean."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, cast

import typer

from equipoise.errors import InvalidParameterError

History: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="HISTORY",
        help="Matches: .csv, .csv.gz, .tsv, .parquet, .jsonl, .arrow, a folder or .zip of "
        "contest JSON, or - for standard input (with --format).",
        show_default=False,
    ),
]
System: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Rating system; see `equipoise systems`. [default: elo-mmr]"),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the system; repeatable. `equipoise systems SYSTEM` lists them. "
        "(opponents of elo-mmr and elo-mmx is for reproducing published figures only: with it a "
        "worse place can earn a higher rating.)",
    ),
]
Parameters: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.toml", help="System, [parameters] and [statistics] from a file; --set wins."
    ),
]
Column: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NEW=OLD", help="Read column OLD as NEW; repeatable."),
]
Stat: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=WEIGHT", help="Weight of a statistic in the performance; repeatable."
    ),
]
LowerScore: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--lower-score-is-better",
        help="Where the column score decides the places, the lowest score is first.",
    ),
]
SkipBad: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--skip-bad",
        metavar="[=rows]",
        help="Drop bad matches whole, or with =rows only the bad rows; both are listed.",
    ),
]
Since: TypeAlias = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="Only matches from this time on.")
]
Until: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Only matches before this time.")
]
Restart: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--restart",
        help="With --resume: rate from the beginning; HISTORY must have all matches of the state.",
    ),
]
TimeFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help="How times are written: iso, s, ms, us, excel, or a pattern such as %d/%m/%Y.",
    ),
]
Where: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUE", help="Only matches with this value; repeatable."),
]
Synonyms: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Names that mean one player: columns name, same_as."),
]
Strict: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse columns and options that the system does not use, not only name them.",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", help="How the history is written, where its name does not tell."),
]
Systems: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        metavar="[LABEL=]NAME",
        help="A rating system, under a label of its own if need be; repeatable. [default: elo-mmr]",
    ),
]
SetOfLabel: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[LABEL.]NAME=VALUE",
        help="A parameter of the system so labelled; repeatable. The label of one without is its "
        "name. (opponents of elo-mmr and elo-mmx is for reproducing published figures only: with "
        "it a worse place can earn a higher rating.)",
    ),
]
MinHistory: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--min-history",
        min=0,
        show_default=False,
        help="Score only players with at least this many earlier matches. [default: 5]",
    ),
]
MinTotal: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--min-total",
        min=0,
        show_default=False,
        help="Instead of --min-history: score only players with at least this many matches in the "
        "whole history, later ones included, which is another reading of the Elo-MMR paper.",
    ),
]
LeastDifference: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--least-difference",
        metavar="METRIC=VALUE",
        help="Differences of METRIC below VALUE do not matter, whatever their interval; "
        "repeatable. [default: 0.0005 for log_loss, brier and ndcg, 0.05 for the others]",
    ),
]
Database: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="EQUIPOISE_DATABASE",
        help="sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME; without the option "
        "what EQUIPOISE_DATABASE says. [default: sqlite:///equipoise.db]",
        show_default=False,
        show_envvar=False,
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, errors too.")]

#: Database of commands that are told of none.
DATABASE = "sqlite:///equipoise.db"


def skip_bad_games(given: str | None) -> bool:
    """Return whether `--skip-bad` is given for games. Raises : InvalidParameterError."""
    if given not in (None, "matches"):
        raise InvalidParameterError(f"--skip-bad takes no value for games; got {given!r}")
    return given is not None


def skip_bad_choice(given: str | None) -> Literal["matches", "rows"] | None:
    """Return what `--skip-bad` asks for. Raises : InvalidParameterError."""
    if given not in (None, "matches", "rows"):
        raise InvalidParameterError(f"--skip-bad stands alone or as --skip-bad=rows; got {given!r}")
    return cast(Literal["matches", "rows"] | None, given)
