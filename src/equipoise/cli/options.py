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
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the system; repeatable."),
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
Where: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUE", help="Only matches with this value; repeatable."),
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
        "name.",
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


def skip_bad_choice(given: str | None) -> Literal["matches", "rows"] | None:
    """Return what `--skip-bad` asks for. Raises : InvalidParameterError."""
    if given not in (None, "matches", "rows"):
        raise InvalidParameterError(f"--skip-bad stands alone or as --skip-bad=rows; got {given!r}")
    return cast(Literal["matches", "rows"] | None, given)
