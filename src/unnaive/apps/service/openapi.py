"""The OpenAPI description of routes that read their bodies by themselves, for speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from unnaive.apps.service import bodies
from unnaive.apps.service.effects import Effect, RouteEffect
from unnaive.apps.service.openapi_examples import EXAMPLES

REFERENCE = "#/components/schemas/{model}"
SECURITY = {  # how the token comes
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token that serve printed or read.",
    },
    "password": {"type": "http", "scheme": "basic", "description": "The token as the password of any user."},
}
ALWAYS = (400, 403, 408, 421, 429, 431, 503)  # the guard may give them for any request
MEANINGS = {
    400: "This is not HTTP, or not what this protocol sends.",
    401: "The token is missing or wrong.",
    403: "The service only reads its models, or a page of another site asks.",
    404: "There is no such model.",
    408: "The request did not arrive in time.",
    409: "The model cannot do this: a class or a document that it does not have, a key that was used before.",
    413: "The request, a batch or a text is too large.",
    415: "The body has an encoding other than gzip.",
    421: "The service is not called by this host name.",
    422: "The request cannot be understood.",
    429: "The client has too many requests or streams under way, or sent too many wrong tokens; wait.",
    431: "The header of the request is too large.",
    503: "Too much to do, or not ready; try again.",
}


def described(body: type[BaseModel] | None, answer: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Arguments of a route: the schema of its body and of its answers."""
    codes = {*statuses, *ALWAYS, *(() if body is None else (413, 415)), 422}
    responses: dict[int | str, Any] = {200: {"description": "Done.", **_content(answer)}}
    responses |= {code: {"description": MEANINGS[code], **_content(bodies.ErrorAnswer)} for code in sorted(codes)}
    extra = {} if body is None else {"openapi_extra": {"requestBody": {"required": True, **_content(body)}}}
    return {"responses": responses, **extra}


def _content(kind: type[BaseModel]) -> dict[str, Any]:
    about: dict[str, Any] = {"schema": {"$ref": REFERENCE.format(model=kind.__name__)}}
    if kind.__name__ in EXAMPLES:
        about["example"] = EXAMPLES[kind.__name__]
    return {"content": {"application/json": about}}


def needed_token(effect: Effect, always: bool) -> list[dict[str, list[str]]]:
    """What a route needs, as OpenAPI says it: nothing, the token where it is needed always, or the token."""
    schemes: list[dict[str, list[str]]] = [{name: []} for name in SECURITY]
    if effect.public:
        return []
    return schemes if effect is Effect.CHANGE or always else [{}, *schemes]


def describe_bodies(app: FastAPI, routes: Sequence[tuple[str, RouteEffect]], token_always: bool) -> dict[str, Any]:
    """The whole description, with the schemas that routes refer to, and where the token is needed."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        kinds = [kind for kind in vars(bodies).values() if isinstance(kind, type) and issubclass(kind, BaseModel)]
        wanted = [kind for kind in kinds if kind not in (BaseModel, bodies.Body, bodies.Foreign)]
        _, schemas = models_json_schema([(kind, "validation") for kind in wanted], ref_template=REFERENCE)
        components = found.setdefault("components", {})
        components.setdefault("schemas", {}).update(schemas["$defs"])
        components["securitySchemes"] = SECURITY
        for method, route in routes:
            about = found["paths"].get(route.path, {}).get(method.lower())
            if about is not None:
                about["security"] = needed_token(route.effect, token_always)
        app.openapi_schema = found
    return app.openapi_schema
