"""How commands declare options, and what tables make of values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import typer
import typer.main

from equipoise.cli.declaring import add_command, argument, option
from equipoise.cli.tables import cell, cut, dates, minutes, table

Loud: Any = Annotated[bool, option(False, "Louder.")]


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What is heard."""

    loud: Loud
    times_: int = option(2, "How often.", min=1)
    since: str | None = option(None, "From when. [default: now]", "TIME", name="--from")


@dataclass(frozen=True, kw_only=True)
class SoundNow(Sound):
    """The same without a beginning."""

    since: None = None


def command(*, word: str = argument("What is said.", "WORD"), sound: Sound, last: Loud) -> int:
    """Say it."""
    assert (word, sound, last) == ("ho", Sound(loud=True, times_=3, since=None), False)
    return 7


def now(*, sound: SoundNow) -> int:
    """Say it at once."""
    return sound.times_


def made(function: Any) -> Any:
    application = typer.Typer(rich_markup_mode=None, add_completion=False)
    add_command(application, "say", function, "Example: say")
    return typer.main.get_command(application)


def test_a_command_gets_its_groups_whole() -> None:
    """Options without a name are called like their parameter."""
    words = ["ho", "--loud", "--times", "3"]
    assert made(command).main(words, standalone_mode=False) == 7


def test_options_stand_where_their_group_does_and_say_their_defaults() -> None:
    *parameters, short_help = made(command).params
    assert (short_help.opts, short_help.hidden) == (["-h"], True)
    assert [one.opts for one in parameters] == [
        ["word"],
        ["--loud"],
        ["--times"],
        ["--from"],
        ["--last"],
    ]
    assert [one.secondary_opts for one in parameters] == [[]] * 5
    helps = ["Louder.", "How often. [default: 2]", "From when. [default: now]", "Louder."]
    assert [one.help for one in parameters[1:]] == helps


def test_a_group_can_leave_an_option_out() -> None:
    one = made(now)
    assert [parameter.opts for parameter in one.params[:-1]] == [["--loud"], ["--times"]]
    assert one.main([], standalone_mode=False) == 2


def test_a_table_writes_numbers_by_their_column_and_leaves_unknown_ones_blank() -> None:
    found = table(
        {"name": "", "rating": "+z.1f", "share": ">"}, [("ann", -0.01, "5 %"), (1, None, 2)]
    )
    assert found.rows == [["ann", "+0.0", "5 %"], ["1", "", "2"]]
    assert found.numbers == {"rating", "share"}
    assert found.lines() == ["name  rating  share", "ann     +0.0    5 %", "1                 2"]


def test_a_cell_leaves_text_as_it_is() -> None:
    assert cell("unknown", ".2f") == "unknown"


def test_text_is_cut_to_its_room() -> None:
    assert [cut("abcdef", 6), cut("abcdefg", 6)] == ["abcdef", "abc..."]


def test_moments_are_written_to_the_minute() -> None:
    """A small whole number is a round."""
    assert [minutes(None), minutes(12), minutes(1_600_000_000)] == [None, "12", "2020-09-13 12:26"]


def test_a_column_of_times_is_one_of_days_if_all_are_midnights() -> None:
    assert dates([1600214400, None, 1601424000]) == ["2020-09-16", None, "2020-09-30"]
    assert dates([1600214400, 1601424060]) == ["2020-09-16 00:00", "2020-09-30 00:01"]
    assert dates([date(2020, 9, 16), None]) == ["2020-09-16", None]
    assert dates([7, 23]) == ["7", "23"]
