"""How commands declare options, and what tables make of values."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

import typer
import typer.main

from equipoise.analysis.requests import Typed, assignments, typed
from equipoise.cli.options import add_command
from equipoise.cli.report import cell, cut, dates, minutes, table

Loud: Any = Annotated[bool, Typed("Louder.")]


def letters(texts: list[str], name: str) -> str:
    return f"{name} {''.join(texts)}"


@dataclass(frozen=True, kw_only=True)
class Pitch:
    """A request within another one."""

    high: bool = typed(False, "Higher.")


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What is heard."""

    word: str = typed(..., "What is said.", "WORD", argument=True)
    loud: bool = typed(False, "Louder.", without=("now",))
    times_: int = typed(2, "How often.", least=1)
    since: str | None = typed(
        None, "From when. [default: now]", "TIME", name="--from", commands=("say",)
    )
    spelled: str = typed("", "Letters.", many=True, read=letters)
    breath: bool = typed(True, "No breath.", name="--no-breath", off=True)
    tune: tuple[str, ...] = typed((), "Tones.")
    ears: int = typed(1, "Listeners. [default: all]", otherwise=lambda: 9)
    pitch: Pitch = field(default_factory=Pitch)
    unheard: int = 5


def command(*, sound: Sound, last: Loud) -> int:
    """Say it."""
    assert (sound, last) == (Sound(word="ho", loud=True, times_=3, ears=9), False)
    return 7


def now(*, sound: Sound) -> int:
    """Say it at once."""
    assert sound == Sound(
        word="ho",
        spelled="--spelled ab",
        breath=False,
        tune=("c", "d"),
        ears=1,
        pitch=Pitch(high=True),
    )
    return sound.times_


def made(function: Any, name: str = "say") -> Any:
    application = typer.Typer(rich_markup_mode=None, add_completion=False)
    add_command(application, name, function)
    return typer.main.get_command(application)


def test_a_command_gets_its_groups_whole() -> None:
    """Options without a name are called like their parameter."""
    words = ["ho", "--loud", "--times", "3"]
    assert made(command).main(words, standalone_mode=False) == 7


def test_options_stand_where_their_field_does_and_say_their_defaults() -> None:
    *parameters, short_help = made(command).params
    assert (short_help.opts, short_help.hidden) == (["-h"], True)
    names = "word --loud --times --from --spelled --no-breath --tune --ears --high --last"
    assert [one.opts for one in parameters] == [[name] for name in names.split()]
    assert [one.secondary_opts for one in parameters] == [[]] * 10
    helps = ["Louder.", "How often. [default: 2]", "From when. [default: now]", "Letters."]
    assert [one.help for one in parameters[1:5]] == helps


def test_values_are_those_of_the_fields_and_commands_can_lack_an_option() -> None:
    one = made(now, "now")
    names = [name for parameter in one.params for name in parameter.opts]
    assert not {"--loud", "--from", "--unheard"} & {*names}
    typed = ["--spelled", "a", "--spelled", "b", "--no-breath", "--tune", "c", "--tune", "d"]
    words = ["ho", *typed, "--ears", "1", "--high"]
    assert one.main(words, standalone_mode=False) == 2


def test_a_command_gets_the_default_that_a_class_makes() -> None:
    """As `serve` without --set does."""

    def told(
        *, set_: dict[str, str] = typed(dict, "Settings.", many=True, read=assignments)
    ) -> int:
        return len(set_)

    for words, settings in (([], 0), (["--set", "a=b"], 1)):
        assert made(told).main(words, standalone_mode=False) == settings


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
