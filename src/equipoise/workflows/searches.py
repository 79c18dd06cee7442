"""From what a user says is to be tried of each parameter to values and ranges."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.data.tuning import Choice, Range
from equipoise.errors import InvalidParameterError
from equipoise.rating.registry import kind_of, setting_of
from equipoise.workflows.settings import assignments


def grid_of(system: str, texts: Sequence[str]) -> dict[str, Choice]:
    """Return the values of NAME=V1,V2,... texts, as the types of the parameters.

    Raises : InvalidParameterError
    """
    found: dict[str, Choice] = {}
    for name, written in assignments(texts, "--grid").items():
        values = [value.strip() for value in written.split(",")]
        if "" in values:
            raise InvalidParameterError(f"--grid takes NAME=V1,V2,...; got {name}={written}")
        typed = [setting_of(system, name, value) for value in values]
        twice = next((one for one in typed if typed.count(one) > 1), None)
        if twice is not None:
            raise InvalidParameterError(f"--grid names the value {twice} of {name} twice")
        found[name] = tuple(typed)
    return found


def ranges_of(system: str, texts: Sequence[str]) -> dict[str, Choice]:
    """Return the ranges of NAME=LOW:HIGH[:log] texts. Raises : InvalidParameterError."""
    found: dict[str, Choice] = {}
    for name, written in assignments(texts, "--range").items():
        low, _, rest = written.partition(":")
        high, colon, scale = (part.strip() for part in rest.partition(":"))
        if not high or (colon and scale not in ("log", "linear")):
            raise InvalidParameterError(f"--range takes NAME=LOW:HIGH[:log]; got {name}={written}")
        kind = kind_of(system, name)
        if kind == "flag":
            raise InvalidParameterError(f"{system}.{name} is true or false: use --grid {name}=...")
        if kind == "word":
            raise InvalidParameterError(f"{system}.{name} takes words: use --grid {name}=...")
        try:
            found[name] = Range(
                low=setting_of(system, name, low.strip()),
                high=setting_of(system, name, high),
                log=scale == "log",
                whole=kind == "whole",
            )
        except (InvalidParameterError, TypeError) as error:
            raise InvalidParameterError(f"--range {name}={written}: {error}") from None
    return found


def choices_of(
    system: str, grid: Sequence[str], ranges: Sequence[str], trials: int | None
) -> dict[str, Choice] | None:
    """Return what to try; None for what is usual. Raises : InvalidParameterError."""
    if grid and (ranges or trials is not None):
        raise InvalidParameterError(
            "--grid tries all of its values; --trials and --range sample. Use one or the other"
        )
    if ranges and trials is None:
        raise InvalidParameterError("--range needs --trials: how many samples to draw")
    if grid:
        return grid_of(system, grid)
    return ranges_of(system, ranges) if ranges else None
