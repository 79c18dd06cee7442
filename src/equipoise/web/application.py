"""The application: FastAPI with our endpoints, for one service."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from equipoise.errors import (
    ApproximationWarning,
    EquipoiseError,
    InvalidDataError,
    NotFoundError,
    Problem,
)
from equipoise.web.api import ENDPOINTS
from equipoise.web.dispatch import Dispatcher
from equipoise.web.errors import HTTP_STATUS, InternalError, MethodError, error_response
from equipoise.web.gate import Gate
from equipoise.web.logs import configure_logs
from equipoise.web.openapi import openapi_document
from equipoise.web.page import page_router
from equipoise.web.page.visit import PageState
from equipoise.web.routing import PathTable, sent_path
from equipoise.web.service import Service
from equipoise.web.settings import ServiceSettings, settings_from_environment


class Application(FastAPI):
    """The service: the pages and all other paths as FastAPI does it, the API without its layers.

    Those layers would cost as much as the rest of a request; the API needs none of them, as all
    its errors are answered where it is dispatched.
    """

    def __init__(self, service: Service, **settings: Any) -> None:
        super().__init__(**settings)
        self.state.service = service
        self._paths = PathTable(ENDPOINTS)
        self._api = _layered(Dispatcher(service), service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or follow the lifespan."""
        if scope["type"] == "http":
            found = self._paths.find(sent_path(scope))
            if found is not None:
                scope["equipoise.found"] = found
                await self._api(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Return what FastAPI does with a request, behind the layers that all requests pass."""
        service: Service = self.state.service
        return _layered(super().build_middleware_stack(), service)


def _layered(app: ASGIApp, service: Service) -> ASGIApp:
    """Return an application behind the layers that all requests pass."""
    if service.settings.cors:
        app = _allow_origins(app, service.settings.cors)
    return Gate(app, metrics=service.metrics)


def create_application(settings: ServiceSettings | None = None) -> Application:
    """Return the service as an ASGI application; its lifespan opens and closes the database.

    `app.state.service` is the `equipoise.web.service.Service`.
    """
    service = Service(settings or ServiceSettings())
    service.description = openapi_document(ENDPOINTS)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.open()
        if service.settings.page:
            app.state.page = PageState(service)
        try:
            yield
        finally:
            await service.close()

    app = Application(
        service,
        title="Equipoise",
        lifespan=lifespan,
        # Described by ourselves, from the shapes that are really used.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_exception_handler(HTTPException, _told_by_router)
    app.add_exception_handler(RequestValidationError, _told_by_validation)
    app.add_exception_handler(EquipoiseError, _told_by_us)
    app.add_exception_handler(Exception, _told_of_fault)
    if service.settings.page:
        app.include_router(page_router)
    return app


def application_from_environment() -> Application:
    """Return the application as environment variables set it; for server processes."""
    settings = settings_from_environment()
    configure_logs(settings.log_level)
    # Pools say it in their `notes`; standard error is for lines of JSON alone.
    warnings.simplefilter("ignore", ApproximationWarning)
    application = create_application(settings)
    _spare_the_collector()
    return application


def _spare_the_collector() -> None:
    """Let Python's collector look less often, and not at what stays.

    A stream makes objects by the hundred thousand, nearly none of them in cycles; at the usual
    thresholds a quarter of the time of a process goes into looking at them again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _allow_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Let pages of other origins call the service; keys go in a header, so no cookies."""
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "PUT", "PATCH", "POST", "DELETE"],
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


async def _told_of_fault(request: Request, error: Exception) -> Response:
    """Answer a fault of a page; what happened is logged by the gate."""
    identity = request.scope.get("equipoise.request", "")
    return error_response(InternalError(f"the service failed; its log has request {identity}"))


async def _told_by_us(request: Request, error: Exception) -> Response:
    """Answer an error of ours that a page did not answer itself."""
    if not isinstance(error, EquipoiseError):
        raise error
    return error_response(error)
