"""Every rating system by name, and how to make one from named parameters.

`SYSTEMS` has a line for each system that is built in. `plugins.installed` finds those of other
packages.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from equipoise.arguments import checks_arguments
from equipoise.data.explanation import Explanation
from equipoise.data.history import History
from equipoise.errors import InvalidParameterError, NotFoundError, PluginError
from equipoise.rating.newcomers import ENTRY_PARAMETERS
from equipoise.rating.plugins.installed import Plugin, load, offered, plugin_of
from equipoise.rating.state import State
from equipoise.rating.system import RatingSystem, refuse_removed

if TYPE_CHECKING:
    from equipoise.rating.base_system import System

#: explain(system, before, history, match, row), see `rating.explaining.explain_change`.
Explainer: TypeAlias = Callable[[Any, State, History, int, int], Explanation]


class SystemSpec(NamedTuple):
    """What is known of a system before its code is loaded, so that only those in use are.

    place : the class of its parameters, below this package
    summary : its use, in one line
    source : its document
    explainer : the module that has `explain`, below this package; "" for that of the class
    """

    place: str
    summary: str
    source: str
    explainer: str = ""


SYSTEMS: dict[str, SystemSpec] = {
    "bradley-terry": SystemSpec(
        "systems.weng_lin.BradleyTerry",
        "teams of any size and number, as all pairs; closed form",
        "Weng and Lin 2011",
    ),
    "codeforces": SystemSpec(
        "systems.codeforces.Codeforces",
        "contests of any size, as Elo-MMR's authors rated them; rules=platform: as Codeforces does",
        "Mirzayanov 2015",
    ),
    "dwz": SystemSpec(
        "systems.dwz.DWZ",
        "duels, event by event, as the German Chess Federation does; age, number of events",
        "Deutscher Schachbund",
    ),
    "egf": SystemSpec(
        "systems.egf.EGF",
        "duels, tournament by tournament, as the European Go Federation does; handicap stones",
        "European Go Federation 2021",
    ),
    "elo": SystemSpec(
        "systems.elo.Elo",
        "duels, teams by their mean, contests as all pairs; home advantage",
        "Elo 1961",
    ),
    "elo-mmr": SystemSpec(
        "elo_mmr.elo_mmr.EloMMR",
        "contests of any size; Bayesian, robust, aligned incentives",
        "Ebtekar and Liu 2021",
        explainer="elo_mmr.explain",
    ),
    "elo-mmx": SystemSpec(
        "elo_mmr.elo_mmr.EloMMX",
        "contests of any size, as elo-mmr with Gaussian performances",
        "Ebtekar and Liu 2021",
        explainer="elo_mmr.explain",
    ),
    "fide": SystemSpec(
        "systems.fide.FIDE",
        "duels, month by month, as FIDE does by the rules of the day; age, number of games",
        "FIDE Handbook B.02",
    ),
    "glicko": SystemSpec(
        "systems.glicko.Glicko",
        "duels and contests as all pairs, with rating periods; deviation",
        "Glickman 1999",
    ),
    "glicko2": SystemSpec(
        "systems.glicko2.Glicko2",
        "duels with rating periods; deviation and volatility",
        "Glickman 2012",
    ),
    "lichess": SystemSpec(
        "systems.lichess.Lichess",
        "duels as Lichess rates them: Glicko-2 at once, inactivity by the hour, limits",
        "Lichess 2026",
    ),
    "plackett-luce": SystemSpec(
        "systems.weng_lin.PlackettLuce",
        "teams of any size and number, place by place; closed form",
        "Weng and Lin 2011",
    ),
    "stephenson": SystemSpec(
        "systems.stephenson.Stephenson",
        "duels with rating periods: glicko with a bonus and a pull to opponents; home advantage",
        "Stephenson 2012",
    ),
    "team-glicko2": SystemSpec(
        "systems.team_glicko2.TeamGlicko2",
        "two teams of any size; performance within the team, form, inactivity",
        "team-glicko2",
    ),
    "thurstone-mosteller": SystemSpec(
        "systems.weng_lin.ThurstoneMosteller",
        "teams of any size and number, as all pairs with normal performances; closed form",
        "Weng and Lin 2011",
    ),
    "topcoder": SystemSpec(
        "systems.topcoder.TopCoder",
        "contests of any size, as Elo-MMR's authors rated them; volatility",
        "TopCoder",
    ),
    "trueskill": SystemSpec(
        "systems.trueskill.TrueSkill",
        "teams of any size and number; ties have a probability",
        "Herbrich, Minka and Graepel 2006",
    ),
    "trueskill-spb": SystemSpec(
        "systems.trueskill.TrueSkillSPb",
        "as trueskill, with places between the teams: for contests with many ties",
        "Nikolenko and Sirotkin 2010",
    ),
    "uscf": SystemSpec(
        "systems.uscf.USCF",
        "duels, event by event, as the first pass of US Chess; age, number of games, floors",
        "Glickman and Doan 2020",
    ),
}


def system_names() -> list[str]:
    """Return the names of all systems: those built in, then those of other packages."""
    return list(dict.fromkeys([*SYSTEMS, *(plugin.name for plugin in offered())]))


def check_name(name: str) -> Plugin | None:
    """Return the package of a system, None for one that is built in; nothing is imported.

    Raises : NotFoundError for an unknown system; PluginError if several packages offer it
    """
    if name in SYSTEMS:
        return None
    plugin = plugin_of(name)
    if plugin is None:
        names = system_names()
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise NotFoundError(f"no system {name!r}; the systems are {', '.join(names)}{hint}")
    return plugin


def requirement_of(name: str) -> str:
    """Return the package that a system comes from, as pip takes it; empty for one built in.

    Raises : NotFoundError, PluginError
    """
    plugin = check_name(name)
    return "" if plugin is None else plugin.requirement


def absent(what: str, name: str, requirement: str) -> PluginError:
    """Return the error for something that needs a system of a package that is not installed.

    what : such as "pool 'chess'", the start of the sentence
    requirement : the package, as pip takes it
    """
    package = requirement.partition("==")[0]
    return PluginError(
        f"{what} has the system {name!r} of the package {package}, which is not installed here: "
        f"install {requirement}"
    )


def system_class(name: str) -> type[Any]:
    """Return the parameter class of a system. Raises : NotFoundError, PluginError."""
    plugin = check_name(name)
    if plugin is not None:
        return load(plugin)
    module, _, class_name = SYSTEMS[name].place.rpartition(".")
    system: type[Any] = getattr(importlib.import_module(f"{__package__}.{module}"), class_name)
    return system


@checks_arguments()
def make_system(name: str, settings: Mapping[str, object] | None = None) -> System:
    """Return a system with these parameters; text is read as the parameter's type.

    Raises : NotFoundError for an unknown system, InvalidParameterError for an unknown parameter
    or a value outside its range, PluginError for a package whose system cannot be used

    Examples
    --------
    >>> eq.make_system("elo", {"k": "20"}) == eq.Elo(k=20.0)
    True
    >>> eq.make_system("elo-mmr").name
    'elo-mmr'
    """
    kind = system_class(name)
    removed = getattr(kind, "removed", ())
    values = {
        parameter: setting_of(name, parameter, value)
        for parameter, value in (settings or {}).items()
        # What earlier versions saved has removed parameters at their default, None.
        if value is not None or parameter not in removed
    }
    system: System = kind(**values)
    return system


def without_removed(system: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return saved parameters without those that a system no longer has.

    Raises : NotFoundError, PluginError
    """
    removed = getattr(system_class(system), "removed", ())
    return {name: value for name, value in parameters.items() if name not in removed}


def setting_of(system: str | type[Any], parameter: str, value: object) -> Any:
    """Return a value as the type of a parameter of a system; its range is not checked.

    system : name, or class, which need not be registered
    Raises : NotFoundError for an unknown system, InvalidParameterError
    """
    name = system if isinstance(system, str) else system.name
    return _typed(f"{name}.{parameter}", _type_of(system, parameter), value)


def kind_of(system: str | type[Any], parameter: str) -> Literal["number", "whole", "flag", "word"]:
    """Return the kind of a parameter's values: numbers, whole numbers, true or false, or words.

    system : name, or class, which need not be registered
    Raises : NotFoundError for an unknown system, InvalidParameterError for an unknown parameter
    """
    hint = _type_of(system, parameter)
    if typing.get_origin(hint) is Literal:
        return "word"
    options = set(typing.get_args(hint)) or {hint}
    if bool in options:
        return "flag"
    return "number" if float in options else "whole"


def _type_of(system: str | type[Any], parameter: str) -> object:
    """Return the type of a parameter. Raises : NotFoundError, InvalidParameterError."""
    kind = system_class(system) if isinstance(system, str) else system
    known = {field.name for field in dataclasses.fields(kind)}
    if parameter not in known:
        refuse_removed(kind, [parameter])
        near = difflib.get_close_matches(parameter, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InvalidParameterError(
            f"{kind.name} has no parameter {parameter!r}: it has {', '.join(sorted(known))}{hint}"
        )
    return typing.get_type_hints(kind)[parameter]


def fields_of(kind: type[Any]) -> list[dataclasses.Field[Any]]:
    """Return the parameters of a system's class: its own, then the advantage, then the entry."""
    from equipoise.rating.contexts import CONTEXT_DEVIATION
    from equipoise.rating.head_start import ADVANTAGE_PARAMETERS

    shared = (*ADVANTAGE_PARAMETERS, CONTEXT_DEVIATION, *ENTRY_PARAMETERS)
    fields = dataclasses.fields(kind)
    places = {name: place for place, name in enumerate(shared, 1)}
    return sorted(fields, key=lambda field: places.get(field.name, 0))


def parameters_of(system: RatingSystem) -> dict[str, Any]:
    """Return the parameters of a system by name."""
    return {field.name: getattr(system, field.name) for field in fields_of(type(system))}


def is_later_default(system: RatingSystem, name: str) -> bool:
    """Return whether a parameter was added to a system later, and has its default.

    Files and messages leave it out, so that they are what they were before there was one. Systems
    that add head starts always had `home_advantage`.
    """
    if name == "home_advantage" and getattr(system, "adds_head_starts", False):
        return False
    later = {one.name: one for one in fields_of(type(system)) if one.metadata.get("later")}
    return name in later and bool(getattr(system, name) == later[name].default)


def unsuited(history_misfits: Mapping[str, list[str]]) -> str:
    """Return a sentence on why the first system cannot rate a history, and which systems can."""
    name, misfits = next(iter(history_misfits.items()))
    fits = [other for other, misfits in history_misfits.items() if not misfits]
    advice = f"systems that can: {', '.join(fits)}" if fits else "no system can rate it"
    return f"{name} cannot rate {'; '.join(misfits)}; {advice}"


_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _typed(what: str, hint: object, value: object) -> object:
    """Return a value as the type of its parameter. Raises : InvalidParameterError."""
    if typing.get_origin(hint) is Literal:
        words = typing.get_args(hint)
        if value not in words:
            raise InvalidParameterError(f"{what} must be {' or '.join(words)}; got {value!r}")
        return value
    options = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    if value is None or (isinstance(value, str) and value.lower() in ("none", "null")):
        if type(None) in options:
            return None
        raise InvalidParameterError(f"{what} must have a value; got {value!r}")
    if bool in options:
        if isinstance(value, bool):
            return value
        word = _WORDS.get(str(value).lower())
        if word is None:
            raise InvalidParameterError(f"{what} must be true or false; got {value!r}")
        return word
    try:
        number = float(str(value))
    except ValueError:
        raise InvalidParameterError(f"{what} must be a number; got {value!r}") from None
    if math.isnan(number) or isinstance(value, bool):
        raise InvalidParameterError(f"{what} must be a number; got {value!r}")
    if int in options and float not in options:
        if not number.is_integer():  # an infinite one neither
            raise InvalidParameterError(f"{what} must be a whole number; got {value!r}")
        return int(number)
    return number
