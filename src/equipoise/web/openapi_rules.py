"""Rules of what is posted that the workflows check and no type tells, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

#: No control characters, those of C1 included.
_NO_CONTROL = "^[^\\u0000-\\u001f\\u007f-\\u009f]+$"
ID: Json = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": _NO_CONTROL}
POOL_NAME: Json = {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"}

#: Fields of what is posted that hold ids.
_IDS = frozenset({"match", "player", "players", "team", "teams", "party", "avoid", "what_if"})

#: Shape and field -> the type that is meant, where there are several, and its rules.
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
    ("PoolRequest", "placement_matches"): ("integer", {"minimum": 0, "maximum": 1_000_000}),
    ("PredictRequest", "samples"): ("integer", {"minimum": 1, "maximum": 100_000}),
    ("PredictRequest", "teams"): ("array", {"minItems": 2}),
    ("PredictRequest", "what_if"): ("array", {"maxItems": 100}),
    ("DisqualifyRequest", "reason"): ("string", {"maxLength": 2000}),
    ("ReasonRequest", "reason"): ("string", {"maxLength": 2000}),
    ("TeamRequest", "players"): ("array", {"minItems": 1}),
    ("TeamRequest", "rank"): ("integer", {"minimum": 0}),
}


def with_rules(components: Json) -> None:
    """Add to the shapes of what is posted what else must hold of their fields."""
    for shape, schema in components.items():
        if not shape.endswith(("Request", "BalancePlayer")):
            continue
        for name, field in schema.get("properties", {}).items():
            if name in _IDS:
                _restrict(field, "string", ID)
            if (shape, name) in _RULES:
                _restrict_own(field, *_RULES[shape, name])
        if shape == "TeamRequest":
            # One of the two decides the places.
            schema["oneOf"] = [{"required": ["rank"]}, {"required": ["score"]}]


def _restrict(schema: Json, kind: str, rules: Json) -> None:
    """Add rules wherever a type occurs, however deep in arrays."""
    _restrict_own(schema, kind, rules)
    for one in (schema, *schema.get("anyOf", ())):
        if isinstance(one.get("items"), dict):
            _restrict(one["items"], kind, rules)


def _restrict_own(schema: Json, kind: str, rules: Json) -> None:
    for one in (schema, *schema.get("anyOf", ())):
        if one.get("type") == kind:
            one.update(rules)
