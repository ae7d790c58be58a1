"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from transom.errors import InputError, NotFoundError, TransomError
from transom.server.rendering import error_page, wants_page

MEDIA_TYPE = "application/problem+json"
_METHODS = ("GET", "POST", "DELETE")
"""The methods that endpoints of this server have."""
_ADDRESSES = {
    404: "There is no page at this address.",
    405: "This address takes a form, and has no page.",
}


class Problem(BaseModel):
    """The description of an error.

    Attributes:
        type: always `about:blank`: the status has the kind of error.
        title: the status in words.
        status: the HTTP status.
        detail: the error, its place, and what to do.
        errors: invalid fields, each with `where` and `what`.
    """

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] = Field(default_factory=list)


def problem(
    status: int,
    detail: str,
    errors: list[dict[str, str]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem document as a response."""
    document = Problem(
        title=HTTPStatus(status).phrase, status=status, detail=detail, errors=errors or []
    )
    return JSONResponse(document.model_dump(), status, headers, MEDIA_TYPE)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problem responses of an endpoint, for its OpenAPI document."""
    content = {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in statuses
    }


def add_handlers(app: FastAPI) -> None:
    """Register handlers that answer every error with a problem document."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _unusable)
    app.add_exception_handler(TransomError, _ours)
    app.add_exception_handler(Exception, _defect)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {**(error.headers or {})}
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_methods_of(request))
    detail = error.detail
    # The words of Starlette repeat the status.
    if wants_page(request.scope) and error.status_code in _ADDRESSES:
        detail = f"{_ADDRESSES[error.status_code]} The links above lead to all pages."
    return answer_error(request, error.status_code, detail, headers)


def _methods_of(request: Request) -> list[str]:
    """Return the methods of a path; Starlette names those of the first endpoint alone."""
    methods: list[str] = []
    for method in _METHODS:
        scope = {**request.scope, "method": method}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            methods.append(method)
    return methods


async def _unusable(request: Request, error: Exception) -> Response:
    """Answer a validation error without the given values, which may be long or not printable."""
    assert isinstance(error, RequestValidationError)
    errors = []
    for finding in error.errors():
        place = ".".join(map(str, finding["loc"]))
        errors.append({"where": place, "what": str(finding["msg"])})
    if wants_page(request.scope):
        values = ", ".join(str(finding["loc"][-1]) for finding in error.errors())
        return error_page(422, f"This address cannot be used: {values} is wrong. Go back.")
    return problem(
        422, "the request is invalid; see `errors`, and /openapi.json", _printable(errors)
    )


async def _ours(request: Request, error: Exception) -> Response:
    if isinstance(error, NotFoundError):
        return answer_error(request, 404, str(error))
    # An input is the client's fault. Any other error, such as a full disk, may pass.
    return answer_error(request, 422 if isinstance(error, InputError) else 503, str(error))


async def _defect(request: Request, error: Exception) -> Response:
    # Its text may contain anything, also paths and keys. The log has it.
    del error
    return answer_error(request, 500, "internal error of transom; see its log")


def answer_error(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error as a page for a person, else as a problem document."""
    if wants_page(request.scope):
        return error_page(status, detail, headers)
    return problem(status, detail, headers=headers)


def _printable(errors: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return errors without lone surrogates, which JSON may hold and UTF-8 may not."""
    printable = []
    for error in errors:
        texts = {}
        for key, text in error.items():
            texts[key] = text.encode("utf-8", "backslashreplace").decode()
        printable.append(texts)
    return printable
