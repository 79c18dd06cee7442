"""The OpenAPI document: written from the declarations that the service itself works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeAlias

import msgspec

from equipoise.messages.errors import ErrorMessage
from equipoise.messages.matches import StreamLine
from equipoise.web.endpoints import JSON, NDJSON, Endpoint
from equipoise.web.openapi_parts import (
    ERRORS,
    HEADERS,
    INTRODUCTION,
    PATH_PARAMETERS,
    SECURITY,
    TAGS,
    error_statuses,
)
from equipoise.web.openapi_rules import with_rules

Json: TypeAlias = dict[str, Any]

_REFERENCE = "#/components/schemas/{name}"


def openapi_document(endpoints: Sequence[Endpoint]) -> bytes:
    """Return the description of these endpoints as JSON."""
    return msgspec.json.encode(described(endpoints))


def described(endpoints: Sequence[Endpoint]) -> Json:
    """Return the description of these endpoints."""
    schemas, components = _schemas(endpoints)
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        operation = _operation(endpoint, schemas)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Equipoise",
            "version": version("equipoise"),
            "description": INTRODUCTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": TAGS,
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": _error_responses(),
            "headers": HEADERS,
            "securitySchemes": SECURITY,
        },
    }


def _schemas(endpoints: Sequence[Endpoint]) -> tuple[dict[int, Json], Json]:
    """Return the schema of every shape by its id, and the components they refer to."""
    shapes: dict[int, Any] = {id(ErrorMessage): ErrorMessage, id(StreamLine): StreamLine}
    for endpoint in endpoints:
        for shape in _alternatives(endpoint.shape):
            shapes[id(shape)] = shape
        if endpoint.body is not None and endpoint.body.shape is not None:
            shapes[id(endpoint.body.shape)] = endpoint.body.shape
    found, components = msgspec.json.schema_components(
        list(shapes.values()), ref_template=_REFERENCE
    )
    with_rules(components)
    return dict(zip(shapes, found, strict=True)), components


def _alternatives(shape: Any) -> tuple[Any, ...]:
    """Return the shapes that an answer may be of."""
    if shape is None:
        return ()
    return shape if isinstance(shape, tuple) else (shape,)


def _operation(endpoint: Endpoint, schemas: Mapping[int, Json]) -> Json:
    operation: Json = {
        "operationId": endpoint.name,
        "tags": [endpoint.group],
        "summary": endpoint.summary,
        "description": _description(endpoint),
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "security": _security(endpoint),
        "responses": _responses(endpoint, schemas),
    }
    if endpoint.tagged:
        operation["parameters"].append(
            {
                "name": "If-None-Match",
                "in": "header",
                "description": "An `ETag`: where it still holds the answer is 304, without a body.",
                "schema": {"type": "string"},
            }
        )
    if endpoint.body is not None:
        operation["requestBody"] = _request_body(endpoint, schemas)
    return operation


def _description(endpoint: Endpoint) -> str:
    return " ".join(part for part in (endpoint.description, _right(endpoint)) if part)


def _right(endpoint: Endpoint) -> str:
    """Return the sentence that says who may do this."""
    if endpoint.right is None:
        return ""
    if endpoint.group == "Calculations":
        return "Needs any key, unless the service is set otherwise."
    of = " for all pools" if endpoint.all_pools else ""
    article = "an" if endpoint.right == "admin" else "a"
    free = ", or none where the pool is public" if _is_free(endpoint) else ""
    return f"Needs {article} {endpoint.right}'s key{of}{free}."


def _is_free(endpoint: Endpoint) -> bool:
    return endpoint.of_pool and endpoint.right == "reader"


def _security(endpoint: Endpoint) -> list[Json]:
    if endpoint.right is None:
        return [] if endpoint.group == "Operation" else [{"key": []}, {}]
    free = _is_free(endpoint) or endpoint.group == "Calculations"
    return [{"key": []}, {}] if free else [{"key": []}]


def _path_parameters(endpoint: Endpoint) -> list[Json]:
    names = [part.strip("{}") for part in endpoint.parts if part.startswith("{")]
    return [
        {"name": name, "in": "path", "required": True, **PATH_PARAMETERS[name]} for name in names
    ]


def _query_parameters(endpoint: Endpoint) -> list[Json]:
    if endpoint.query is None:
        return []
    (_,), components = msgspec.json.schema_components([endpoint.query], ref_template="{name}")
    schema = components[endpoint.query.__name__]
    required = schema.get("required", ())
    found = []
    for name, one in schema["properties"].items():
        shown = _without_null(one)
        parameter: Json = {"name": name, "in": "query", "required": name in required}
        description = shown.pop("description", None)
        if description:
            parameter["description"] = description
        found.append({**parameter, "schema": shown})
    return found


def _without_null(schema: Json) -> Json:
    """Return a schema without null, which a query cannot say: the parameter is left out."""
    shown = dict(schema)
    if shown.get("default", ...) is None:
        del shown["default"]
    choices = [one for one in shown.get("anyOf", ()) if one != {"type": "null"}]
    if len(choices) == 1:
        del shown["anyOf"]
        shown = {**choices[0], **shown}
    if shown.get("enum"):
        shown["enum"] = [one for one in shown["enum"] if one is not None]
        shown["type"] = "string"
    return shown


def _request_body(endpoint: Endpoint, schemas: Mapping[int, Json]) -> Json:
    body = endpoint.body
    if body is None:
        return {}
    content: Json = {}
    for media in body.media:
        if media in body.lines:
            line = msgspec.json.encode(body.example).decode()
            content[media] = {"schema": {"type": "string"}, "example": f"{line}\n"}
        elif media == JSON:
            schema = {"type": "object"} if body.shape is None else schemas[id(body.shape)]
            content[media] = {"schema": schema, "example": body.example}
        else:
            content[media] = {"schema": {"type": "string"}, "example": body.example}
    shown: Json = {"required": body.required, "content": content}
    return {"description": body.description, **shown} if body.description else shown


def _responses(endpoint: Endpoint, schemas: Mapping[int, Json]) -> Json:
    content: Json = {
        media: {} if media == JSON else {"schema": {"type": "string"}} for media in endpoint.media
    }
    if endpoint.shape is not None:
        found = [schemas[id(shape)] for shape in _alternatives(endpoint.shape)]
        content[JSON] = {"schema": found[0] if len(found) == 1 else {"anyOf": found}}
        if endpoint.example is not None:
            content[JSON]["example"] = endpoint.example
    if endpoint.body is not None and endpoint.body.lines:
        content[NDJSON] = {
            "schema": {
                "type": "string",
                "description": "A StreamLine on each line; where the stream was refused from some "
                "point on, an ErrorMessage on the last.",
            }
        }
    headers: Json = {"X-Request-ID": {"$ref": "#/components/headers/X-Request-ID"}}
    if endpoint.tagged:
        headers["ETag"] = {"$ref": "#/components/headers/ETag"}
    answers: Json = {"200": {"description": "Done.", "headers": headers, "content": content}}
    if endpoint.tagged:
        answers["304"] = {"description": "Not changed since the answer with this `ETag`."}
    for status in error_statuses(endpoint):
        answers[str(status)] = {"$ref": f"#/components/responses/{status}"}
    return answers


def _error_responses() -> Json:
    found: Json = {}
    for status, (description, headers) in ERRORS.items():
        found[str(status)] = {
            "description": description,
            "headers": {
                name: {"$ref": f"#/components/headers/{name}"}
                for name in ("X-Request-ID", *headers)
            },
            "content": {JSON: {"schema": {"$ref": "#/components/schemas/ErrorMessage"}}},
        }
    return found
