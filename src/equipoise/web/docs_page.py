"""The description of the API as a page, made from the OpenAPI document, without scripts."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from equipoise.markup import Content, element, lines
from equipoise.report.document import Section, document, paragraph, table

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
#: Maximum length of a line of an example.
_LINE = 76
_CODE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


@lru_cache(maxsize=4)
def docs_page(description: bytes) -> tuple[str, str]:
    """Return the page for an OpenAPI document, and its content security policy.

    The policy names the page's own style by its hash and allows nothing else.
    """
    page = _page(json.loads(description))
    hashes = (
        b64encode(hashlib.sha256(style.encode()).digest()).decode()
        for style in _STYLE.findall(page)
    )
    styles = " ".join(f"'sha256-{one}'" for one in hashes)
    policy = (
        f"default-src 'none'; style-src {styles} 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    return page, policy.replace(" 'unsafe-inline'", "") if styles else policy


def _page(described: dict[str, Any]) -> str:
    about = described["info"]
    head = [
        element("h1", f"{about['title']} API"),
        paragraph(f"Version {about['version']}. ", element("a", "OpenAPI", href="/openapi.json")),
        *(_paragraph(text) for text in about["description"].split("\n\n")),
    ]
    sections = [_group(described, tag) for tag in described["tags"]]
    sections.append(Section("errors", "Errors", [_errors(described)]))
    sections.append(Section("shapes", "Shapes", list(_shapes(described))))
    return document(f"{about['title']} API", f"Equipoise {about['version']}", head, sections)


def _group(described: dict[str, Any], tag: dict[str, Any]) -> Section:
    content: list[Markup] = [_paragraph(tag["description"])]
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if tag["name"] in operation["tags"]:
                content += _operation(method, path, operation)
    return Section(tag["name"].lower(), tag["name"], content)


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterable[Markup]:
    name = operation["operationId"]
    title = element("code", f"{method.upper()} {path}")
    yield element("h3", operation["summary"], id=name)
    yield element("p", title)
    if operation["description"]:
        yield _paragraph(operation["description"])
    parameters = operation["parameters"]
    if parameters:
        rows = [
            [
                one["name"],
                one["in"],
                _rule(one["schema"], one.get("required", False)),
                _plain(one.get("description", "")),
            ]
            for one in parameters
        ]
        yield table(f"{name}-parameters", "Parameters", ["Name", "In", "Rule", "Meaning"], rows)
    body = operation.get("requestBody")
    if body:
        yield from _body(body)
    yield _answers(operation["responses"])


def _body(body: dict[str, Any]) -> Iterable[Markup]:
    """Yield the description of a body; media types with the same example come together."""
    kinds: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for media, content in body["content"].items():
        if media != "*/*":
            kinds.setdefault(_written(content.get("example", "")), ([], content))[0].append(media)
    for example, (names, content) in kinds.items():
        media_types: list[Content] = []
        for name in names:
            media_types += [" or " if media_types else "", element("code", name)]
        yield element("p", "Body ", *media_types, ": ", *_kind(content["schema"]), ".")
        if example:
            yield element("pre", element("code", example))


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


def _answers(responses: dict[str, Any]) -> Markup:
    good: list[Content] = []
    for media, content in responses["200"]["content"].items():
        good += ["; " if good else "", element("code", media), " "]
        good += _kind(content.get("schema", {}))
    others = [
        element("a", status, href=f"#status-{status}") if "$ref" in answer else Markup(status)
        for status, answer in responses.items()
        if status != "200"
    ]
    listed_others: list[Content] = []
    for one in others:
        listed_others += [" ", one]
    return element("p", "Answers 200: ", *good, ". Others:" if others else ".", *listed_others)


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


def _rule(schema: dict[str, Any], required: bool) -> str:
    """Return the rule of a parameter in short."""
    parts = ["".join(str(part) for part in _kind(schema) if not isinstance(part, Markup))]
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None or high is not None:
        parts.append(f"{low} to {high}" if None not in (low, high) else f"from {low}")
    if schema.get("default") not in (None, [], ()):
        parts.append(f"default {json.dumps(schema['default'])}")
    if required:
        parts.append("required")
    return ", ".join(parts)


def _errors(described: dict[str, Any]) -> Markup:
    rows = described["components"]["responses"].items()
    marks = (
        element("li", element("b", status, id=f"status-{status}"), f" {answer['description']}")
        for status, answer in rows
    )
    return element("ul", "\n", lines(marks), "\n")


def _shapes(described: dict[str, Any]) -> Iterable[Markup]:
    for name, schema in sorted(described["components"]["schemas"].items()):
        yield element("h3", name, id=f"shape-{name}")
        about = schema.get("description", "")
        yield from (_paragraph(text) for text in about.split("\n\n") if text)
        required = schema.get("required", ())
        fields = (
            element(
                "li",
                element("code", field),
                ": ",
                *_kind(one),
                "" if field in required else " (optional)",
            )
            for field, one in schema.get("properties", {}).items()
        )
        yield element("ul", "\n", lines(fields), "\n")


def _paragraph(text: str) -> Markup:
    """Return a paragraph of text in which `code` and **names** are marked."""
    parts: list[Content] = []
    at = 0
    for found in _CODE.finditer(text):
        parts.append(text[at : found.start()])
        parts.append(element("code", found[1]) if found[1] else element("b", found[2]))
        at = found.end()
    return paragraph(*parts, text[at:])


def _plain(text: str) -> str:
    return text.replace("`", "")
