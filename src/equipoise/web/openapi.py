"""The description of the API: OpenAPI, and the page that shows it.

The rules of requests that use cases check and types do not express are added to the schemas.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, TypeAlias, get_args

import msgspec
from markupsafe import Markup

from equipoise.markup import Content, element, joined
from equipoise.messages.conversion import ErrorMessage
from equipoise.messages.matches import StreamLine
from equipoise.web.http.endpoints import JSON, LARGEST, NDJSON, Endpoint, Group
from equipoise.web.page.rendering import environment

#: Maximum length of a line of an example.
_LINE = 76
_CODE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")


@lru_cache(maxsize=4)
def docs_page(description: bytes) -> tuple[str, str]:
    """Return the page for an OpenAPI document, and its content security policy.

    The policy names the page's own style by its hash and allows nothing else.
    """
    style = "\n" + files("equipoise.analysis.backtest").joinpath("page.css").read_text("utf-8")
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
        parts = [_written(part, deeper) for part in value]
        ends = "[]"
    else:
        parts = [f"{json.dumps(name)}: {_written(part, deeper)}" for name, part in value.items()]
        ends = "{}"
    inner = ",\n".join(deeper + part for part in parts)
    return f"{ends[0]}\n{inner}\n{before}{ends[1]}"


def _kind(schema: dict[str, Any]) -> list[Content]:
    """Return the type of a schema, with links to the shapes in it."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [element("a", name, href=f"#shape-{name}")]
    if "anyOf" in schema:
        content: list[Content] = []
        for choice in schema["anyOf"]:
            content += [" or "] if content else []
            content += _kind(choice)
        return content
    if schema.get("type") == "array":
        places = schema.get("prefixItems")  # an array of a fixed length
        if places:
            return [f"array of {len(places)}: ", *_kind(places[0])]
        return ["array of ", *_kind(schema.get("items", {}))]
    if "enum" in schema:
        return [", ".join("null" if value is None else str(value) for value in schema["enum"])]
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
    for mark in _CODE.finditer(text):
        parts.append(text[at : mark.start()])
        parts.append(element("code", mark[1]) if mark[1] else element("b", mark[2]))
        at = mark.end()
    return joined(*parts, text[at:])


Json: TypeAlias = dict[str, Any]

#: No control characters, neither C0 nor C1.
_NO_CONTROL = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"
ID: Json = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": _NO_CONTROL}
POOL_NAME: Json = {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"}

#: Fields of requests that hold ids.
_IDS = frozenset({"match", "player", "players", "team", "teams", "party", "avoid", "what_if"})

#: Shape and field -> the type to which the rules apply, and the rules.
_RULES: dict[tuple[str, str], tuple[str, Json]] = {
    ("BalanceRequest", "alternatives"): ("integer", {"minimum": 0, "maximum": 100}),
    ("BalanceRequest", "players"): ("array", {"minItems": 2, "maxItems": 100}),
    ("KeyRequest", "name"): ("string", {"minLength": 1, "maxLength": 200}),
    ("KeyRequest", "pool"): ("string", POOL_NAME),
    ("MatchRequest", "teams"): ("array", {"minItems": 1}),
    ("MatchRequest", "weight"): ("number", {"exclusiveMinimum": 0}),
    ("ParticipationRequest", "share"): ("number", {"minimum": 0, "maximum": 1}),
    ("PoolRequest", "display_deviations"): ("number", {"minimum": 0, "maximum": 100}),
    ("PoolRequest", "inactive_days"): ("number", {"minimum": 0, "maximum": 1_000_000}),
    ("PoolRequest", "description"): ("string", {"maxLength": 1_000}),
    ("PoolRequest", "title"): ("string", {"maxLength": 100}),
    ("PoolRequest", "unit"): ("string", {"minLength": 1, "maxLength": 30}),
    ("PoolRequest", "provisional_deviation"): ("number", {"minimum": 0, "maximum": 1e9}),
    ("PoolRequest", "placement_matches"): ("integer", {"minimum": 0, "maximum": 1_000_000}),
    ("PredictRequest", "draw_rate"): ("number", {"minimum": 0, "maximum": 1}),
    ("PredictRequest", "samples"): ("integer", {"minimum": 1, "maximum": 100_000}),
    ("PredictRequest", "teams"): ("array", {"minItems": 2}),
    ("PredictRequest", "what_if"): ("array", {"maxItems": 100}),
    ("DisqualifyRequest", "reason"): ("string", {"maxLength": 2000}),
    ("ReinstateRequest", "reason"): ("string", {"maxLength": 2000}),
    ("ReasonRequest", "reason"): ("string", {"maxLength": 2000}),
    ("TeamRequest", "players"): ("array", {"minItems": 1}),
    ("TeamRequest", "rank"): ("integer", {"minimum": 0}),
}


def with_rules(components: Json) -> None:
    """Add the rules of fields to the shapes of requests."""
    for shape, schema in components.items():
        if not shape.endswith(("Request", "BalancePlayer")):
            continue
        for name, field in schema.get("properties", {}).items():
            if name in _IDS:
                _restrict(field, "string", ID)
            if (shape, name) in _RULES:
                _restrict_own(field, *_RULES[shape, name])
        if shape == "TeamRequest":
            # Exactly one of the two gives the place.
            schema["oneOf"] = [{"required": ["rank"]}, {"required": ["score"]}]


def _restrict(schema: Json, kind: str, rules: Json) -> None:
    """Add rules to a type wherever it occurs in a schema, also inside arrays."""
    _restrict_own(schema, kind, rules)
    for choice in (schema, *schema.get("anyOf", ())):
        if isinstance(choice.get("items"), dict):
            _restrict(choice["items"], kind, rules)


def _restrict_own(schema: Json, kind: str, rules: Json) -> None:
    for choice in (schema, *schema.get("anyOf", ())):
        if choice.get("type") == kind:
            choice.update(rules)


INTRODUCTION = """\
Equipoise rates players from the matches that you post. It shows leaderboards, explains every change
of a rating, predicts matches and makes fair teams.

**Keys.** Send a key as `Authorization: Bearer KEY`. The role of a key is reader, writer or admin;
each role includes the permissions of the one before it. A key is for one pool or for all pools.
Public pools can be read without a key. A request is checked in this order: the key, its
permission, whether the pool exists, and the query and the body.

**Ids** are text of 1 to 200 characters without control characters. A number is converted to its
decimal text. In a path, percent-encode special characters: a slash is `%2F`.

**Errors** all have the form `{"error": {"code", "message", "problems"}}`. `problems` lists the
rules that are broken, with the fields. Every response has an `X-Request-ID`, which is also in the
service log. It is the one in the request, if there was one.

**Retries.** If you post a match again with the same content, nothing changes and the response is
the same. So if you get no response, send the match again. After 429 and 503, nothing was done, and
`Retry-After` says when to try again. After 504, the request may have been completed.

**Pages.** Lists have `next`. Send it as `cursor` to get the next page.
"""

_ABOUT: dict[str, str] = {
    "Pools": "Players and matches that share one system and its parameters.",
    "Matches": "The matches that are rated. Records are only ever added to the log of a pool.",
    "Players": "Leaderboards, ratings of players, and explanations of their changes.",
    "Questions": "Predictions and fair teams from the ratings of a pool. Nothing is recorded.",
    "Amendments": "Records that change which matches count, and how.",
    "Seasons": "When a season ends, its pool becomes an archive, and a new pool takes its name.",
    "Webhooks": "Addresses to which the service sends the events of a pool, signed and in order.",
    "Calculations": "Calculations that need no pool. Nothing is stored.",
    "Keys": "Keys and the audit log.",
    "Operation": "For operators of the service.",
}
TAGS = [{"name": name, "description": _ABOUT[name]} for name in get_args(Group) if name in _ABOUT]

SECURITY = {
    "key": {"type": "http", "scheme": "bearer", "description": "A key of the service."},
}

PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "pool": {
        "description": "Name of a pool.",
        "schema": POOL_NAME,
        "example": "ladder",
    },
    "match": {"description": "Id of a match.", "schema": ID, "example": "m-1"},
    "player": {"description": "Id of a player.", "schema": ID, "example": "ana"},
    "other": {"description": "Id of another player.", "schema": ID, "example": "bo"},
    **{
        name: {
            "description": f"Number of a {noun}.",
            "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST[name]},
            "example": example,
        }
        for name, noun, example in (
            ("seq", "record in the log of the pool", 17),
            ("webhook", "webhook", 1),
            ("key", "key", 1),
        )
    },
}

HEADERS = {
    "X-Request-ID": {
        "description": "Id of the request, also in the service log.",
        "schema": {"type": "string"},
    },
    "ETag": {"description": "For `If-None-Match`.", "schema": {"type": "string"}},
    "Retry-After": {
        "description": "Seconds after which to try again.",
        "schema": {"type": "integer", "minimum": 1},
    },
    "WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}},
}

#: Status of an error -> its meaning, and its headers.
ERRORS: dict[int, tuple[str, tuple[str, ...]]] = {
    400: ("The request cannot be parsed.", ()),
    401: ("A key is missing, unknown, expired or revoked.", ("WWW-Authenticate",)),
    403: ("The key has no permission for this request.", ()),
    404: ("Something that the request names does not exist.", ()),
    408: ("The headers or the body did not arrive in time.", ()),
    409: ("The request contradicts what is stored.", ()),
    413: ("The body, or a line of a stream, is too large.", ()),
    415: ("The content type of the body is not accepted here.", ()),
    422: ("The request breaks a rule; `problems` says which.", ()),
    429: ("The rate limit is exceeded. Nothing was done.", ("Retry-After",)),
    431: ("The request line and headers are too large.", ()),
    503: ("The service is too busy, or has no database. Nothing was done.", ("Retry-After",)),
    504: ("The request took too long. It may have been completed.", ("Retry-After",)),
}


def error_statuses(endpoint: Endpoint) -> list[int]:
    """Return the error statuses of an endpoint."""
    if endpoint.group == "Operation":
        return sorted(endpoint.errors)
    statuses = {400, 401, 422, 429, 431, 503, 504, *endpoint.errors}
    if endpoint.right is not None:
        statuses.add(403)
    if endpoint.of_pool and not endpoint.new_pool:
        statuses.add(404)
    if endpoint.body is not None:
        statuses |= {408, 413, 415}
    return sorted(statuses)


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
    """Return the schema of each shape by its id(), and the components that they refer to."""
    shapes: dict[int, Any] = {id(ErrorMessage): ErrorMessage, id(StreamLine): StreamLine}
    for endpoint in endpoints:
        for shape in endpoint.shapes:
            shapes[id(shape)] = shape
        if endpoint.body is not None and (shape := endpoint.body.described) is not None:
            shapes[id(shape)] = shape
    schemas, components = msgspec.json.schema_components(
        list(shapes.values()), ref_template=_REFERENCE
    )
    with_rules(components)
    return dict(zip(shapes, schemas, strict=True)), components


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
                "description": "An `ETag`. If nothing has changed, the response is 304.",
                "schema": {"type": "string"},
            }
        )
    if endpoint.body is not None:
        operation["requestBody"] = _request_body(endpoint, schemas)
    return operation


def _description(endpoint: Endpoint) -> str:
    return " ".join(part for part in (endpoint.description, _right(endpoint)) if part)


def _right(endpoint: Endpoint) -> str:
    """Return the sentence about the key that an endpoint needs."""
    if endpoint.right is None:
        return ""
    if endpoint.group == "Calculations":
        return "Needs any key, unless the setting `calculations` is `open`."
    of = " for all pools" if endpoint.all_pools else ""
    article = "an" if endpoint.right == "admin" else "a"
    free = "; public pools need none" if _is_free(endpoint) else ""
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
    parameters = []
    for name, shown_schema in schema["properties"].items():
        shown = _without_null(shown_schema)
        parameter: Json = {"name": name, "in": "query", "required": name in required}
        description = shown.pop("description", None)
        if description:
            parameter["description"] = description
        parameters.append({**parameter, "schema": shown})
    return parameters


def _without_null(schema: Json) -> Json:
    """Return a schema without null: a query leaves the parameter out instead."""
    shown = dict(schema)
    if shown.get("default", ...) is None:
        del shown["default"]
    choices = [choice for choice in shown.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del shown["anyOf"]
        shown = {**choices[0], **shown}
    if shown.get("enum"):
        shown["enum"] = [value for value in shown["enum"] if value is not None]
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
            schema = {"type": "object"} if body.described is None else schemas[id(body.described)]
            content[media] = {"schema": schema, "example": body.example}
        else:
            content[media] = {"schema": {"type": "string"}, "example": body.example}
    shown: Json = {"required": body.required, "content": content}
    return {"description": body.description, **shown} if body.description else shown


def _responses(endpoint: Endpoint, schemas: Mapping[int, Json]) -> Json:
    content: Json = {
        media: {} if media == JSON else {"schema": {"type": "string"}} for media in endpoint.media
    }
    if endpoint.shapes:
        listed = [schemas[id(shape)] for shape in endpoint.shapes]
        content[JSON] = {"schema": listed[0] if len(listed) == 1 else {"anyOf": listed}}
    if endpoint.body is not None and endpoint.body.lines:
        content[NDJSON] = {
            "schema": {
                "type": "string",
                "description": "A StreamLine on each line. If a chunk was rejected, the last line "
                "is an ErrorMessage.",
            }
        }
    headers: Json = {"X-Request-ID": {"$ref": "#/components/headers/X-Request-ID"}}
    if endpoint.tagged:
        headers["ETag"] = {"$ref": "#/components/headers/ETag"}
    answers: Json = {"200": {"description": "Done.", "headers": headers, "content": content}}
    if endpoint.tagged:
        answers["304"] = {"description": "Nothing has changed since the response with this `ETag`."}
    for status in error_statuses(endpoint):
        answers[str(status)] = {"$ref": f"#/components/responses/{status}"}
    return answers


def _error_responses() -> Json:
    responses: Json = {}
    for status, (description, headers) in ERRORS.items():
        responses[str(status)] = {
            "description": description,
            "headers": {
                name: {"$ref": f"#/components/headers/{name}"}
                for name in ("X-Request-ID", *headers)
            },
            "content": {JSON: {"schema": {"$ref": "#/components/schemas/ErrorMessage"}}},
        }
    return responses
