"""The OpenAPI description of routes that parse their bodies themselves, for speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, RootModel
from pydantic.json_schema import models_json_schema

from unnaive.apps.common.web.effects import Effect, RouteEffect
from unnaive.apps.service import bodies, foreign_answers
from unnaive.apps.service.openapi_examples import EXAMPLES

REFERENCE = "#/components/schemas/{model}"
SECURITY = {  # how the token is sent
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "The token that `unnaive serve` printed or read.",
    },
    "password": {"type": "http", "scheme": "basic", "description": "The token as the password of any user."},
}
ALWAYS = (400, 403, 408, 421, 429, 431, 503)  # the guard may return these for any request
MEANINGS = {
    400: "The request is not valid HTTP or violates the protocol.",
    401: "The token is missing or wrong.",
    403: "The service is read-only, or the request comes from a page of another site.",
    404: "There is no such model, class, version or event.",
    408: "The request did not arrive in time.",
    409: "The model cannot do this: for instance it has no such document, or the idempotency key was used before.",
    413: "The request, a batch or a text is too large.",
    415: "The body has an encoding other than gzip.",
    421: "The service does not have this host name.",
    422: "The request cannot be understood.",
    429: "The client has too many concurrent requests or streams, or sent too many wrong tokens; wait.",
    431: "The header of the request is too large.",
    503: "The service is overloaded or not ready; try again.",
}


def described(body: type[BaseModel] | None, answer: type[BaseModel], *statuses: int) -> dict[str, Any]:
    """Arguments of a route: the schemas of its body and its answers."""
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
    """The security requirement of a route in OpenAPI's format: none, or the token."""
    schemes: list[dict[str, list[str]]] = [{name: []} for name in SECURITY]
    if effect.public:
        return []
    return schemes if effect.always_needs_token or always else [{}, *schemes]


def _is_body(kind: Any) -> bool:
    """Whether a name of a module is a body, and not a class that only others derive from."""
    bases = (BaseModel, RootModel, bodies.Body, bodies.Foreign, bodies.Parameters)
    return isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in bases


def _without_null_defaults(schema: Any) -> Any:
    """The schema without defaults of null: a field that may be left out need not accept null."""
    if isinstance(schema, list):
        return [_without_null_defaults(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_null_defaults(part) for name, part in schema.items() if not (name == "default" and part is None)
    }


def describe_bodies(
    app: FastAPI, routes: Sequence[tuple[str, RouteEffect]], *, token_always: bool, root_path: str
) -> dict[str, Any]:
    """The whole description, with the schemas that routes refer to, and which routes need the token."""
    if app.openapi_schema is None:
        description = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        kinds = [kind for module in (bodies, foreign_answers) for kind in vars(module).values() if _is_body(kind)]
        _, schemas = models_json_schema([(kind, "validation") for kind in kinds], ref_template=REFERENCE)
        if root_path:
            description["servers"] = [{"url": root_path}]
        components = description.setdefault("components", {})
        components.setdefault("schemas", {}).update(_without_null_defaults(schemas["$defs"]))
        components["securitySchemes"] = SECURITY
        for method, route in routes:
            about = description["paths"].get(route.path, {}).get(method.lower())
            if about is not None:
                about["security"] = needed_token(route.effect, token_always)
        app.openapi_schema = description
    return app.openapi_schema
