"""Finding the rating systems of other packages.

A package adds a system by an entry point of the group `equipoise.systems`: name -> class. The names
are read from the metadata of the installed packages, which imports none of them. A package is
imported when its system is named. A system that is built in cannot be replaced.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

from equipoise.errors import EquipoiseError, PluginError

#: The group of entry points that other packages declare.
GROUP = "equipoise.systems"

#: The base class of all systems, by name, because its module imports this one.
_SYSTEM = "equipoise.rating.base_system.System"

#: Columns that every state has; ratings are read from the first one.
_COLUMNS = ("rating", "matches", "last_time")


class Plugin(NamedTuple):
    """A system that an installed package offers.

    name : of the system
    package, version, summary : of the package
    entry : the place of its class
    """

    name: str
    package: str
    version: str
    summary: str
    entry: EntryPoint

    @property
    def requirement(self) -> str:
        """The package and its version, in the form that pip takes."""
        return f"{self.package}=={self.version}"


@lru_cache(maxsize=1)
def offered() -> tuple[Plugin, ...]:
    """Return the systems that installed packages offer, by name; nothing is imported."""
    plugins = []
    for entry in entry_points(group=GROUP):
        package = entry.dist
        if package is None:  # an entry point that was made by hand
            continue
        about = package.metadata.json
        name, summary = str(about["name"]), str(about.get("summary", ""))
        plugins.append(Plugin(entry.name, name, package.version, summary, entry))
    return tuple(sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)))


def plugin_of(name: str) -> Plugin | None:
    """Return the package that offers a system, None if there is none.

    Raises : PluginError if several packages offer it
    """
    matching = [plugin for plugin in offered() if plugin.name == name]
    if len(matching) > 1:
        packages = " and ".join(plugin.package for plugin in matching)
        raise PluginError(
            f"{len(matching)} packages offer a system {name!r}: {packages}; uninstall all but one"
        )
    return matching[0] if matching else None


def clashes(built_in: frozenset[str]) -> list[str]:
    """Return a sentence for each system of a package that has the name of one that is built in."""
    return [
        f"the package {plugin.package} {plugin.version} offers a system {plugin.name!r}, but "
        f"that name "
        "is built in: the built-in system is used. Rename the system of the package"
        for plugin in offered()
        if plugin.name in built_in
    ]


@lru_cache(maxsize=64)
def load(plugin: Plugin) -> type[Any]:
    """Import a package and return the class of its system.

    Raises : PluginError if it cannot be imported, or is not a rating system
    """
    of_package = f"the system {plugin.name!r} of the package {plugin.package} {plugin.version}"
    try:
        loaded: Any = plugin.entry.load()
    except Exception as error:  # whatever the package does when it is imported
        raise PluginError(
            f"{of_package} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    fault = _fault(loaded, plugin.name)
    if fault:
        raise PluginError(f"{of_package} cannot be used: {plugin.entry.value} {fault}")
    kind: type[Any] = loaded
    return kind


def _place(kind: type[Any]) -> str:
    """Return the module and the name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _fault(loaded: Any, name: str) -> str:
    """Return the rule that a class breaks and what was found, empty if it is a system."""
    if not (isinstance(loaded, type) and _SYSTEM in map(_place, loaded.__mro__)):
        got = loaded.__name__ if isinstance(loaded, type) else repr(loaded)
        return f"must be a subclass of {_SYSTEM}; got {got}"
    parameters = getattr(loaded, "__dataclass_params__", None)
    if "__dataclass_fields__" not in vars(loaded) or not getattr(parameters, "frozen", False):
        return "must be a frozen dataclass: @dataclass(frozen=True, slots=True, kw_only=True)"
    missing = sorted(getattr(loaded, "__abstractmethods__", ()))
    if missing:
        return f"must define {', '.join(missing)}"
    own = getattr(loaded, "name", "")
    if own != name:
        return f"must have the name of its entry point, {name!r}; got {own!r}"
    needed = [
        field.name
        for field in dataclasses.fields(loaded)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if needed:
        return f"must have a default for every parameter; got none for {', '.join(needed)}"
    try:
        columns = list(loaded().initial(1).initial)
    except EquipoiseError as error:
        return f"must accept its own default values; got: {error}"
    if columns[:1] != ["rating"] or not set(_COLUMNS) <= set(columns):
        return (
            f"must keep the columns {', '.join(_COLUMNS)} of every player, rating first; got "
            f"{', '.join(columns)}"
        )
    return ""
