"""Checks of the arguments of public functions against their annotations.

`checks_arguments` reads the annotations of a function, `check_fields` those of a dataclass. Both
raise InvalidParameterError, which says what was expected, before anything is computed. They check
types: that a number is a number, a list is a list, an object is an instance of the right class and
not the class itself, and a word is one of its choices. Functions check ranges with
`errors.require`.

Three rules go beyond the annotations: True and False are not numbers, NaN is not a number, and text
is not a list, although Python can iterate over its characters.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Literal, ParamSpec, TypeGuard, TypeVar, cast

import numpy as np

from equipoise.errors import InvalidParameterError, require

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Descriptions of expected values, for classes whose name is not enough.
_NAMES: dict[str, str] = {
    "DataFrame": "a Polars DataFrame",
    "Tabular": "a result that is a table",
    "Generator": "a random generator, such as numpy.random.default_rng(0)",
    "RatingSystem": "a rating system, such as equipoise.EloMMR()",
    "System": "a rating system, such as equipoise.EloMMR()",
    "History": "a History, as returned by read_history",
    "PoolState": "a PoolState, such as the state of a Replay",
    "Lobby": "a Lobby, as returned by read_lobby",
    "Games": "a Games, as returned by read_games",
    "Results": "results, as returned by results_of_player",
    "Outlook": "an Outlook, such as the outlook of a Prediction",
    "Ratings": "a Ratings, such as the ratings of a Replay",
    "PathLike": "a path",
    "IO": "a stream",
}
#: Kinds of elements in the plural.
_PLURALS: dict[object, str] = {
    int: "whole numbers",
    float: "numbers",
    str: "strings",
    bool: "True and False",
}
#: What `typing.get_origin` gives for functions.
_CALLABLE: Any = typing.get_origin(Callable[[], None])
#: Characters of a value that are shown.
_SHOWN = 60


def checks_arguments(*own: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator that checks the arguments of a function first.

    own : arguments whose values the function checks itself; the decorator does not check the
        elements of a list, and whether a number is NaN
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        parameters = list(inspect.signature(function).parameters.values())
        names = [
            parameter.name
            for parameter in parameters
            if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        written = {
            parameter.name: parameter.annotation
            for parameter in parameters
            if parameter.annotation is not parameter.empty
        }

        @functools.lru_cache(maxsize=1)
        def hints() -> dict[str, Any]:
            # At the first call, when all modules are complete.
            return _evaluated(written, function.__module__)

        @functools.wraps(function)
        def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            check_values(hints(), {**dict(zip(names, args, strict=False)), **kwargs}, own)
            return function(*args, **kwargs)

        return checked

    return decorate


def check_fields(instance: Any, *names: str) -> None:
    """Check the kinds of a dataclass's fields against their annotations, and the words of Literals.

    Ranges of numbers and elements of lists are not checked.

    names : the fields to check; without names, all
    Raises : InvalidParameterError
    """
    kind: Any = type(instance)
    hints = _hints_of_fields(kind)
    chosen = names or tuple(hints)
    check_values(hints, {name: getattr(instance, name) for name in chosen}, chosen)


def check_values(
    hints: Mapping[str, Any], values: Mapping[str, object], own: Collection[str] = ()
) -> None:
    """Check named values against their annotations; for names in `own`, not NaN and elements.

    Raises : InvalidParameterError
    """
    for name, value in values.items():
        # The usual case, fast: exactly this type, and not NaN.
        kind = type(value)
        if name not in hints or (kind is hints[name] and kind in _PLURALS and value == value):
            continue
        fault = next(_faults(name, hints[name], value, name not in own), None)
        if fault is not None:
            raise InvalidParameterError(f"{fault}{_swapped(name, hints, values)}")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a number, NaN included; True and False are none."""
    plain = isinstance(value, int | float | np.integer | np.floating)
    return plain and not isinstance(value, bool)


def checked_number(name: str, value: object, low: float, high: float) -> float:
    """Return a number within bounds. Raises : InvalidParameterError."""
    fits = is_number(value) and low <= value <= high
    require(fits, name, f"a number from {low:g} to {high:g}", value)
    return float(cast(float, value))


def as_array(name: str, values: object, dtype: type[np.generic]) -> Any:
    """Return numbers of any sequence or array as a new array.

    Raises : InvalidParameterError if they are not numbers, or not whole for an integer dtype
    """
    rule = "whole numbers" if issubclass(dtype, np.integer) else "numbers"
    try:
        plain = np.asarray(values)
        array = np.array(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        got = _got(Any, values)
        raise InvalidParameterError(f"{name} must be an array of {rule}; got {got}") from None
    # NumPy would accept True, False and text of digits as numbers, and 1.5 as 1. An array of truth
    # values is accepted, as comparisons return it (such as who won: 1 and 0).
    exact = plain.dtype.kind != "f" or rule == "numbers" or np.array_equal(array, plain)
    compared = isinstance(values, np.ndarray) and rule == "numbers"
    if plain.dtype.kind in "US" or (plain.dtype.kind == "b" and not compared) or not exact:
        got = _got(Any, plain)
        raise InvalidParameterError(f"{name} must be an array of {rule}; got {got}")
    return array


def _swapped(name: str, hints: Mapping[str, Any], values: Mapping[str, object]) -> str:
    """Return a sentence if this value and that of another parameter seem to be swapped."""
    for other, value in values.items():
        if other == name or other not in hints or hints[other] in (object, Any):
            continue
        if not _fits(hints[other], value) and (
            _fits(hints[other], values[name]) and _fits(hints[name], value)
        ):
            return f". It seems that {name} and {other} are swapped"
    return ""


@functools.cache
def _hints_of_fields(kind: Any) -> dict[str, Any]:
    """Return the annotation of every field of a dataclass."""
    hints: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        hints.update(_evaluated(inspect.get_annotations(base), base.__module__))
    return {field.name: hints[field.name] for field in fields(kind)}


def _evaluated(written: Mapping[str, Any], module: str) -> dict[str, Any]:
    """Return annotations as objects, without those whose names only type checkers know."""
    place, evaluated = vars(sys.modules[module]), {}
    for name, hint in written.items():
        try:
            # An annotation of our own source, never input from outside.
            evaluated[name] = eval(hint, place) if isinstance(hint, str) else hint
        except NameError:
            continue
    return evaluated


def _fits(hint: Any, value: object) -> bool:
    return next(_faults("", hint, value, False), None) is None


def _faults(name: str, hint: Any, value: object, deep: bool) -> Iterator[str]:
    """Yield what is wrong with a value.

    deep : whether to check more than the kind
    """
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        return
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        yield from _faults_of_union(name, hint, inside, value, deep)
    elif origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in inside):
            yield _fault(name, hint, value)
    elif hint in (int, float, bool, str) or hint is None or hint is type(None):
        if not _is_plain(hint, value, deep):
            yield _fault(name, hint, value)
    elif origin is np.ndarray:
        if not _is_array(inside[1], value):
            yield _fault(name, hint, value)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from _faults_of_mapping(name, hint, inside, value, deep)
    elif origin is Iterable:
        # An iterator can be consumed only once, so its elements are not checked.
        if not isinstance(value, Iterable) or isinstance(value, str | bytes | type):
            yield _fault(name, hint, value)
    elif isinstance(origin, type) and issubclass(origin, Collection):
        yield from _faults_of_list(name, hint, inside, value, deep)
    elif origin is _CALLABLE:
        if not callable(value) or isinstance(value, type):
            yield _fault(name, hint, value)
    elif not _is_instance(origin or hint, value):
        yield _fault(name, hint, value)


def _is_plain(hint: Any, value: object, deep: bool) -> bool:
    """Return whether a value is a number, text, True or False, or None."""
    if hint is None or hint is type(None):
        return value is None
    if hint is str:
        return isinstance(value, str)
    if isinstance(value, bool | np.bool_) or hint is bool:
        return hint is bool and isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, int | np.integer)
    number = isinstance(value, int | float | np.integer | np.floating)
    return number and not (deep and math.isnan(cast(float, value)))


def _is_array(dtype: Any, value: object) -> bool:
    """Return whether a value is an array of this kind; object arrays may hold anything."""
    if not isinstance(value, np.ndarray):
        return False
    wanted = typing.get_args(dtype)[0] if typing.get_args(dtype) else Any
    kinds = {np.float64: "fiu", np.int64: "iu", np.bool_: "b", np.uint64: "u"}
    return wanted not in kinds or value.dtype.kind in kinds[wanted]


def _is_instance(kind: Any, value: object) -> bool:
    """Return whether a value is of this class, and not a class itself."""
    if isinstance(value, type):
        return False
    if kind is typing.IO:
        return hasattr(value, "read") or hasattr(value, "write")
    if not isinstance(kind, type):
        return True
    return isinstance(value, kind)


def _faults_of_union(
    name: str, hint: Any, inside: tuple[Any, ...], value: object, deep: bool
) -> Iterator[str]:
    """Yield what is wrong with a value that may be of several kinds."""
    if value is None and type(None) in inside:
        return
    if any(next(_faults("", choice, value, deep), None) is None for choice in inside):
        return
    # For a list with a bad element, name that element.
    for choice in inside:
        first = next(_faults(name, choice, value, deep), None)
        if first is not None and not first.startswith(f"{name} "):
            yield first
            return
    yield _fault(name, hint, value)


def _faults_of_mapping(
    name: str, hint: Any, inside: tuple[Any, ...], value: object, deep: bool
) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield _fault(name, hint, value)
        return
    for key, item in value.items() if deep else ():
        yield from _faults(f"a key of {name}", inside[0], key, deep)
        yield from _faults(f"{name}[{_shortened(repr(key))}]", inside[1], item, deep)


def _faults_of_list(
    name: str, hint: Any, inside: tuple[Any, ...], value: object, deep: bool
) -> Iterator[str]:
    listed = isinstance(value, Collection) and not isinstance(
        value, str | bytes | bytearray | Mapping | type
    )
    if not listed:
        yield _fault(name, hint, value)
    if not listed or not deep:
        return
    if isinstance(value, np.ndarray) and value.dtype != object and inside[0] in (int, float):
        if value.dtype.kind not in ("iu" if inside[0] is int else "iuf"):
            yield _fault(name, hint, value)
        return
    element = inside[0]
    if element is Any or element is object:
        return
    for at, item in enumerate(cast(Collection[object], value)):
        # Inside a list NaN stands for an unknown number.
        if element is float and isinstance(item, float) and math.isnan(item):
            continue
        yield from _faults(f"{name}[{at}]", element, item, deep)


def _fault(name: str, hint: Any, value: object) -> str:
    return f"{name} must be {_expected(hint)}; got {_got(hint, value)}"


def _expected(hint: Any) -> str:
    """Return what is expected, as a phrase."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_expected(part) for part in inside))
    if origin is Literal:
        shown = ", ".join(str(literal) for literal in inside)
        return shown if len(inside) == 1 else f"one of {shown}"
    plain = {int: "a whole number", float: "a number", bool: "True or False", str: "a string"}
    if hint in plain:
        return plain[hint]
    if hint is None or hint is type(None):
        return "None"
    if origin is np.ndarray:
        return "a NumPy array"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list{_of(inside[0])}"
    if origin is _CALLABLE:
        return "a function"
    name = getattr(origin or hint, "__name__", str(hint))
    return _NAMES.get(name, _with_article(name))


def _of(element: Any) -> str:
    """Return the kind of a list's elements, as the end of a phrase."""
    if element in _PLURALS:
        return f" of {_PLURALS[element]}"
    origin = typing.get_origin(element)
    if origin is Literal:
        return f" of {', '.join(str(argument) for argument in typing.get_args(element))}"
    if origin is tuple and ... not in typing.get_args(element):
        return " of pairs"
    if isinstance(origin, type) and issubclass(origin, Collection):
        return f" of lists{_of(typing.get_args(element)[0])}"
    return ""


def _got(hint: Any, value: object) -> str:
    """Return the value as text, and how to write what was probably meant."""
    if isinstance(value, type):
        return f"the class {value.__name__}; write {value.__name__}(...)"
    if value is None or isinstance(value, str | bytes | int | float | np.generic):
        shown = _shortened(repr(value.item() if isinstance(value, np.generic) else value))
        single = isinstance(value, str) and _wants_list(hint)
        return f"the string {shown}; write [{shown}] for a list of one" if single else shown
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return _with_article(type(value).__name__)


def _wants_list(hint: Any) -> bool:
    """Return whether a list is among the expected kinds."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_wants_list(argument) for argument in typing.get_args(hint))
    return isinstance(origin, type) and issubclass(origin, Collection)


def _with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
