"""Facts about this API that schemathesis needs and OpenAPI cannot express."""

import os
import re
import zlib
from collections import deque

import schemathesis
from schemathesis.specs.openapi import stateful

TENANT_ID = os.environ["FUZZ_TENANT_ID"]
PROJECT_ID = os.environ["FUZZ_PROJECT_ID"]
CURRENCIES = ["EUR", "USD", "BTC"]
TIME_ZONES = ["Europe/Malta", "America/New_York", "UTC"]

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

# Requests that conform to the document, but are correctly refused because of stored data: the path and the reason.
DEPENDS_ON_DATA = [
    ("cursor|after", "is not a cursor of this list"),
    (r"timezone|traits\.timezone|config\..*", "must be an IANA time zone"),
    (r"base|quote|properties\.currency|traits\.default_currency_code", ".*catalogue"),
    (r"config\.messaging\.quiet_hours\..*", "must be set, too"),
    ("timestamp", "timestamp (must not be before 1900|is more than 24 hours ahead)"),
    # In the document a definition is any object: which conditions are valid depends on the fields that they read.
    (r"definition(\..*)?", ".*"),
    ("refresh_interval_minutes", "(is required with|belongs to) refresh_strategy scheduled"),
]

# Valid definitions: each operator with several kinds of condition.
EVENT = {"type": "event", "event": "deposit_confirmed"}
DEFINITIONS = [
    {
        "operator": operator,
        "conditions": [condition],
    }
    for operator in ("AND", "OR", "NOT")
    for condition in (
        {"type": "trait", "field": "status", "op": "neq", "value": "banned"},
        {"type": "trait", "field": "custom_attributes.plan", "op": "exists"},
        {**EVENT, "aggregate": "count", "op": ">=", "value": 1, "window": {"last": {"days": 30}}},
        {**EVENT, "aggregate": "sum", "property": "amount", "op": "between", "value": [1, 5000]},
        {"type": "sequence", "steps": [{"event": "login"}, {"event": "bet_placed", "within": {"hours": 1}}]},
        {"type": "random", "percent": 50, "salt": "fuzz"},
    )
]

# A scenario may begin with every operation that has no id in its path. By default schemathesis excludes operations with
# any parameter that is named like an id and that no operation returns. Ours (X-Tenant-Id, external_id) are optional or
# chosen by the caller.
stateful.is_likely_root_transition = lambda operation, node, produced: not operation.path_parameters

# Ids from earlier answers: `players` and `segments` are not deleted, `seen` has all of them; and cursors.
players = deque(os.environ["FUZZ_PLAYER_IDS"].split(","), maxlen=50)
segments = deque(maxlen=50)
seen = set(players)
cursors = deque(maxlen=50)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Closes the schemas of answers: a field that is not documented is a fault, although answers may get more fields."""
    for operation in (one for path in raw_schema["paths"].values() for key, one in path.items() if key != "parameters"):
        for status, response in operation["responses"].items():
            response = {**resolved(response, raw_schema)}
            operation["responses"][status] = response
            response["content"] = {
                media: {**content, "schema": closed(content["schema"], raw_schema)}
                for media, content in response["content"].items()
            }


def resolved(part, document):
    """What the part refers to, else the part."""
    for name in part["$ref"].split("/")[1:] if "$ref" in part else []:
        document = document[name]
    return document if "$ref" in part else part


def closed(schema, document, is_part=False):
    """The schema without references, whose objects have no other fields; a part of `allOf` leaves them open."""
    if isinstance(schema, list):
        return [closed(one, document) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        own = {key: value for key, value in schema.items() if key != "$ref"}
        parts = [resolved(schema, document), *([own] if own.keys() - {"description"} else [])]
        return closed(parts[0] if len(parts) == 1 else {"allOf": parts}, document, is_part)
    inner = {key: closed(one, document) for key, one in schema.items() if key != "allOf"}
    if isinstance(schema.get("allOf"), list):
        inner["allOf"] = [closed(one, document, True) for one in schema["allOf"]]
        return inner if is_part else {**inner, "unevaluatedProperties": False}
    is_object = "object" in schema.get("type", ()) and isinstance(schema.get("properties"), dict)
    return {"additionalProperties": False, **inner} if is_object and not is_part else inner


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops "valid data should have been accepted" when every issue is in DEPENDS_ON_DATA."""
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 422:
        return True
    issues = response.json()["error"].get("details", {}).get("issues", [])
    return not (issues and all(depends_on_data(issue) for issue in issues))


def depends_on_data(issue):
    return any(
        re.fullmatch(path, issue["path"]) and re.match(message, issue["message"])
        for path, message in DEPENDS_ON_DATA
    )


@schemathesis.hook
def after_call(context, case, response):
    """Remembers players, segments and cursors, so that later requests can name them."""
    if response.status_code >= 300 or not case.path.startswith("/v1/"):
        return
    answer = response.json()
    data, meta = answer.get("data"), answer.get("meta")
    if isinstance(data, dict) and "player_id" in data and data["player_id"] not in seen:
        players.append(data["player_id"])
        seen.add(data["player_id"])
    if case.method == "DELETE" and case.path == "/v1/players/{id}" and data["id"] in players:
        players.remove(data["id"])
    if case.method == "POST" and case.path == "/v1/segments":
        segments.append(data["id"])
        seen.add(data["id"])
    if case.method == "DELETE" and case.path == "/v1/segments/{id}" and data["id"] in segments:
        segments.remove(data["id"])
    if meta is not None and meta.get("next_cursor") is not None:
        cursors.append(meta["next_cursor"])


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces most valid ids, cursors and currencies by known ones, so that requests find records."""
    replace_id(case.headers, "X-Tenant-Id", [TENANT_ID])
    replace_id(case.headers, "X-Project-Id", [PROJECT_ID])
    replace_id(case.path_parameters, "projectId", [PROJECT_ID])
    if case.path.startswith("/v1/players/"):
        replace_id(case.path_parameters, "id", players)
    if case.path.startswith("/v1/segments/"):
        replace_id(case.path_parameters, "id", segments)
        replace_text(case.query, "player_id", players)
    for name in ("base", "quote"):
        replace_text(case.query, name, CURRENCIES)
    if case.meta is not None and case.meta.generation.mode.is_positive:
        for name in ("cursor", "after"):
            drop_unknown_cursor(case.query, name)
    if isinstance(case.body, dict):
        change_body(case.body)


def change_body(body):
    replace_id(body, "tenant_id", [TENANT_ID])
    replace_id(body, "project_id", [PROJECT_ID])
    replace_id(body, "player_id", players)
    if isinstance(body.get("player_ids"), list):
        body["player_ids"] = [known_or(one, players) for one in body["player_ids"]]
    replace_text(body.get("properties"), "currency", CURRENCIES)
    replace_text(body.get("traits"), "default_currency_code", CURRENCIES)
    replace_text(body.get("traits"), "timezone", TIME_ZONES)
    replace_text(body, "timezone", TIME_ZONES)
    definition = body.get("definition")
    if isinstance(definition, dict) and mostly(repr(definition)):
        body["definition"] = DEFINITIONS[number_of(repr(definition)) % len(DEFINITIONS)]
    if body.get("force") is True:
        # Each forced replay of all dead letters doubles their number.
        body["force"] = False


def replace_id(values, name, known):
    """Replaces a valid id by a known one, but not always, so that unknown ids are requested, too."""
    value = values.get(name) if values else None
    if value is not None:
        values[name] = known_or(value, known)


def known_or(value, known):
    if not isinstance(value, str) or not UUID.fullmatch(value) or value in seen:
        return value
    return known[number_of(value) % len(known)] if known and mostly(value) else value


def replace_text(values, name, known):
    """Replaces a text that may be valid by a known one."""
    value = values.get(name) if hasattr(values, "get") else None
    if isinstance(value, str) and 1 <= len(value) <= 16 and mostly(value):
        values[name] = known[number_of(value) % len(known)]


def drop_unknown_cursor(query, name):
    value = query.get(name) if query else None
    if isinstance(value, str) and value not in cursors and mostly(value):
        del query[name]


def mostly(text):
    return number_of(text) % 16 != 0


def number_of(text):
    """The same number for the same text in every run."""
    return zlib.adler32(text.encode(errors="replace"))
