"""The description of the API as a page, made from the OpenAPI document, without scripts."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from functools import lru_cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from equipoise.markup import Content, element, joined
from equipoise.web.page.rendering import environment

#: Maximum length of a line of an example.
_LINE = 76
_CODE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


@lru_cache(maxsize=4)
def docs_page(description: bytes) -> tuple[str, str]:
    """Return the page for an OpenAPI document, and its content security policy.

    The policy names the page's own style by its hash and allows nothing else.
    """
    style = "\n" + files("equipoise.report").joinpath("page.css").read_text("utf-8")
    page = (
        environment()
        .get_template("api.html")
        .render(
            json.loads(description),
            style=Markup(style),
            bodies=_bodies,
            kind=lambda schema: joined(*_kind(schema)),
            marked=_marked,
            rule=_rule,
        )
    )
    hashed = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return page, policy


def _bodies(operation: dict[str, Any]) -> list[tuple[list[str], dict[str, Any], str]]:
    """Return the bodies of an operation; media types with the same example come together."""
    kinds: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        if media != "*/*":
            kinds.setdefault(_written(content.get("example", "")), ([], content))[0].append(media)
    return [(names, content, example) for example, (names, content) in kinds.items()]


def _written(value: Any, before: str = "") -> str:
    """Return an example as JSON, on one line if it fits."""
    line = value if isinstance(value, str) and not before else json.dumps(value)
    if len(line) + len(before) <= _LINE or not isinstance(value, list | dict):
        return line
    deeper = before + "  "
    if isinstance(value, list):
        parts = [_written(one, deeper) for one in value]
        ends = "[]"
    else:
        parts = [f"{json.dumps(name)}: {_written(one, deeper)}" for name, one in value.items()]
        ends = "{}"
    inner = ",\n".join(deeper + part for part in parts)
    return f"{ends[0]}\n{inner}\n{before}{ends[1]}"


def _kind(schema: dict[str, Any]) -> list[Content]:
    """Return the type of a schema, with links to the shapes in it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [element("a", name, href=f"#shape-{name}")]
    if "anyOf" in schema:
        found: list[Content] = []
        for one in schema["anyOf"]:
            found += [" or "] if found else []
            found += _kind(one)
        return found
    if schema.get("type") == "array":
        places = schema.get("prefixItems")  # an array of a fixed length
        if places:
            return [f"array of {len(places)}: ", *_kind(places[0])]
        return ["array of ", *_kind(schema.get("items", {}))]
    if "enum" in schema:
        return [", ".join("null" if one is None else str(one) for one in schema["enum"])]
    if isinstance(schema.get("additionalProperties"), dict):
        return ["object of ", *_kind(schema["additionalProperties"])]
    return [str(schema.get("type", "anything"))]


def _rule(parameter: dict[str, Any]) -> str:
    """Return the rule of a parameter in short."""
    schema = parameter["schema"]
    parts = ["".join(str(part) for part in _kind(schema) if not isinstance(part, Markup))]
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        parts.append(f"{low} to {high}" if None not in (low, high) else f"from {low}")
    if schema.get("default") not in (None, [], ()):
        parts.append(f"default {json.dumps(schema['default'])}")
    if parameter.get("required", False):
        parts.append("required")
    return ", ".join(parts)


def _marked(text: str) -> Markup:
    """Return text with its `code` and **names** marked."""
    parts: list[Content] = []
    at = 0
    for found in _CODE.finditer(text):
        parts.append(text[at : found.start()])
        parts.append(element("code", found[1]) if found[1] else element("b", found[2]))
        at = found.end()
    return joined(*parts, text[at:])
