"""What msgspec says of a body that does not fit, in our words: which field, what must hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple, get_args

import msgspec

from equipoise.errors import EquipoiseError, InvalidDataError, Problem
from equipoise.messages.keys import Role
from equipoise.messages.pools import LatePolicy, PoolTimes
from equipoise.web.errors import MalformedError

_EXPECTED = re.compile(r"Expected `(?P<kind>[^`]*)`(?: (?P<rule>.*?))?(?:, got `(?P<got>[^`]*)`)?$")
_RULES = (
    (re.compile(r"of length (\S+) (\d+)$"), "must have {} {} characters or items"),
    (re.compile(r"(>=|<=|>|<) (\S+)$"), "must be {} {}"),
    (re.compile(r"matching regex '(.*)'$"), "must match {}"),
)
_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_FIELD = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<name>[^`]*)`")
_CHOICE = re.compile(r"Invalid enum value '?(?P<got>.*?)'?$")
#: What a field takes that takes only certain words.
_CHOICES = {"late": get_args(LatePolicy), "times": get_args(PoolTimes), "role": get_args(Role)}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_SHOWN = 200


class _Said(NamedTuple):
    field: str
    rule: str
    got: str


def refused_json(error: Exception, line: int | None = None) -> EquipoiseError:
    """Return the error to answer for JSON that msgspec refused.

    line : of a stream, where the JSON is one of its lines
    """
    if isinstance(error, msgspec.ValidationError):
        return InvalidDataError([problem(error, line)])
    where = "the body" if line is None else f"line {line}"
    if isinstance(error, RecursionError):
        return MalformedError(f"{where} is nested too deeply")
    if isinstance(error, UnicodeDecodeError):
        return MalformedError(f"{where} must be UTF-8")
    said = str(error).removeprefix("JSON is malformed: ")
    if said.startswith("Input data was truncated"):
        said = "it ends too early"
    return MalformedError(f"{where} must be JSON: {said}")


def problem(error: msgspec.ValidationError, line: int | None = None) -> Problem:
    """Return what is wrong, by the path of the field: teams[0].rank."""
    text, _, path = str(error).partition(" - at ")
    said = _said(text, path.strip("`").removeprefix("$").removeprefix("."))
    return Problem("", line, said.field, said.rule, said.got[:_SHOWN])


def without_lines(error: InvalidDataError) -> InvalidDataError:
    """Return the problems of a single match, which has no number in a list."""
    return InvalidDataError([replace(found, line=None) for found in error.problems])


def _said(text: str, path: str) -> _Said:
    found = _FIELD.match(text)
    if found:
        field = f"{path}.{found['name']}" if path else found["name"]
        if found["what"] == "missing required":
            return _Said(field, "must be given", "nothing")
        return _Said(field, "unknown field", found["name"])
    found = _CHOICE.match(text)
    if found:
        choices = _CHOICES.get(path.rpartition(".")[2])
        rule = f"must be one of {', '.join(choices)}" if choices else "must be one of the choices"
        return _Said(path, rule, found["got"])
    found = _EXPECTED.match(text)
    if found:
        rule = _rule(found["kind"], found["rule"])
        got = "another value" if found["got"] is None else _kinds(found["got"])
        return _Said(path, rule, got)
    if "out of range" in text:
        return _Said(path, "must be a smaller number", "a larger one")
    return _Said(path, "must be valid", text)


def _rule(kind: str, rest: str | None) -> str:
    for pattern, words in _RULES:
        found = pattern.match(rest or "")
        if found:
            return words.format(*(_COMPARED.get(part, part) for part in found.groups()))
    return f"must be {_kinds(kind)}"


def _kinds(types: str) -> str:
    return " or ".join(_KINDS.get(one, one) for one in types.split(" | "))
