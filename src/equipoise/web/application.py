"""The application: FastAPI with our endpoints, for one service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from equipoise.errors import EquipoiseError, InvalidDataError, NotFoundError, Problem
from equipoise.web.api import ENDPOINTS
from equipoise.web.dispatch import Dispatcher
from equipoise.web.errors import HTTP_STATUS, MethodError, error_response
from equipoise.web.gate import Gate
from equipoise.web.logs import configure_logs
from equipoise.web.openapi import openapi_document
from equipoise.web.page import page_router
from equipoise.web.page.service_backend import page_settings
from equipoise.web.routing import ApiRoute
from equipoise.web.service import Service
from equipoise.web.settings import ServiceSettings, settings_from_environment


def create_application(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the service as an ASGI application; its lifespan opens and closes the database.

    `app.state.service` is the `equipoise.web.service.Service`.
    """
    service = Service(settings or ServiceSettings())
    service.description = openapi_document(ENDPOINTS)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.open()
        if service.settings.page:
            app.state.page = page_settings(service)
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title="Equipoise",
        lifespan=lifespan,
        # Described by ourselves, from the shapes that are really used.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    app.router.routes.append(ApiRoute(ENDPOINTS, Dispatcher(service)))
    app.add_exception_handler(HTTPException, _told_by_router)
    app.add_exception_handler(RequestValidationError, _told_by_validation)
    app.add_exception_handler(EquipoiseError, _told_by_us)
    if service.settings.page:
        app.include_router(page_router)
    if service.settings.cors:
        _allow_origins(app, service.settings.cors)
    # Added last, so that it stands before all others.
    app.add_middleware(Gate, metrics=service.metrics)
    return app


def application_from_environment() -> FastAPI:
    """Return the application as environment variables set it; for server processes."""
    settings = settings_from_environment()
    configure_logs(settings.log_level)
    return create_application(settings)


def _allow_origins(app: FastAPI, origins: tuple[str, ...]) -> None:
    """Let pages of other origins call the service; keys go in a header, so no cookies."""
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "PUT", "POST"],
        allow_headers=["Authorization", "Content-Type", "If-None-Match", "X-Request-ID"],
        expose_headers=["ETag", "Retry-After", "X-Request-ID"],
        max_age=600,
    )


async def _told_by_router(request: Request, error: Exception) -> Response:
    """Answer what the router refuses, in our shape."""
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code == 405:
        allowed = tuple((error.headers or {}).get("Allow", "GET").replace(" ", "").split(","))
        return error_response(MethodError(request.method[:20], allowed))
    if error.status_code == 404:
        return error_response(NotFoundError("nothing is at this path"))
    response = error_response(_kind(error.status_code)(str(error.detail)))
    response.status_code = error.status_code
    return response


def _kind(status: int) -> type[EquipoiseError]:
    """Return the class of errors with a status, of those that are made from a message alone."""
    for kind, code in HTTP_STATUS.items():
        if code == status and kind not in (MethodError, InvalidDataError):
            return kind
    return EquipoiseError


async def _told_by_validation(request: Request, error: Exception) -> Response:
    """Answer what FastAPI refuses of a page's form, in our shape."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems = [
        Problem(
            "", None, ".".join(map(str, one["loc"][1:])), one["msg"], str(one.get("input"))[:200]
        )
        for one in error.errors()
    ]
    return error_response(InvalidDataError(problems))


async def _told_by_us(request: Request, error: Exception) -> Response:
    """Answer an error of ours that a page did not answer itself."""
    if not isinstance(error, EquipoiseError):
        raise error
    return error_response(error)
