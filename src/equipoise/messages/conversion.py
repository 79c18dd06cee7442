"""Messages made from values, by the names of their fields; and the message of an error."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from equipoise.errors import EquipoiseError, InvalidDataError

_Message = TypeVar("_Message", bound=msgspec.Struct)


def json_value(value: Any) -> Any:
    """Return a Python value for a NumPy value, and None for NaN."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return None if isinstance(value, float) and value != value else value


def plain(value: Any, *left_out: str) -> Any:
    """Return a result as JSON has it: fields in order, arrays as lists.

    value : dataclasses and named tuples become objects; left_out : fields of it to leave out
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name not in left_out]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    value = json_value(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


def to_message(kind: type[_Message], value: object, /, **others: object) -> _Message:
    """Return a message with the fields of a value, by their names.

    value : a dataclass, for instance; its properties count as fields
    others : fields that the value lacks, or has in another form
    """
    return kind(
        **{
            name: convert(others[name] if name in others else getattr(value, name))
            for name, convert in _converters(kind).items()
        }
    )


def to_messages(kind: type[_Message], value: object, /, **others: object) -> list[_Message]:
    """Return a message for every row of a table.

    value, others : as in `to_message`, but the fields are columns: arrays or lists of one length.
        None is a column of nulls
    """
    columns: dict[str, list[Any] | None] = {
        name: json_value(others[name] if name in others else getattr(value, name))
        for name in kind.__struct_fields__
    }
    rows = next(len(column) for column in columns.values() if column is not None)
    converted = (
        [None] * rows if column is None else map(_converters(kind)[name], column)
        for name, column in columns.items()
    )
    return [kind(*row) for row in zip(*converted, strict=True)]


@cache
def _converters(kind: type[msgspec.Struct]) -> dict[str, Callable[[Any], Any]]:
    """Return the function that converts each field of a message."""
    hints = typing.get_type_hints(kind)
    return {name: _converter(hints[name]) for name in kind.__struct_fields__}


def _converter(hint: Any) -> Callable[[Any], Any]:
    """Return the function that converts to a type."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        (kind, *others) = [part for part in inside if part is not type(None)]
        convert = json_value if others else _converter(kind)
        return lambda value: None if value is None else convert(value)
    if origin is list:
        of_list = _converter(inside[0])
        return lambda value: [of_list(item) for item in json_value(value)]
    if origin is dict:
        of_dict = _converter(inside[1])
        return lambda value: {name: of_dict(item) for name, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return lambda value: value if isinstance(value, hint) else to_message(hint, value)
    return json_value


class ProblemMessage(msgspec.Struct, frozen=True):
    """One thing that is wrong with an input."""

    file: str
    line: int | None
    field: str
    rule: str
    got: str


class ErrorBody(msgspec.Struct, frozen=True):
    """What went wrong: a short name, a sentence, and every problem of an input."""

    code: str
    message: str
    problems: list[ProblemMessage]


class ErrorMessage(msgspec.Struct, frozen=True):
    """An error as one object: {"error": {"code", "message", "problems": [...]}}."""

    error: ErrorBody


def error_message(error: EquipoiseError) -> ErrorMessage:
    """Return the message of an error, with a list of all its problems."""
    problems: list[ProblemMessage] = []
    message = str(error)
    if isinstance(error, InvalidDataError):
        message = message.partition("\n")[0].removesuffix(":")
        problems = [to_message(ProblemMessage, problem) for problem in error.problems]
    return ErrorMessage(ErrorBody(error.code, message, problems))
