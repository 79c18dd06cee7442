"""The message of an error, the same on the command line and over HTTP."""

from __future__ import annotations

import msgspec

from equipoise.errors import EquipoiseError, InvalidDataError
from equipoise.messages.conversion import to_message


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
        problems = [to_message(ProblemMessage, found) for found in error.problems]
    return ErrorMessage(ErrorBody(error.code, message, problems))
