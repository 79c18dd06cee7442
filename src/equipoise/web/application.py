"""The application: Starlette with our endpoints, for one service."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from equipoise.errors import EquipoiseError, NotFoundError
from equipoise.web.api import ENDPOINTS
from equipoise.web.http.dispatch import Dispatcher, PathTable, sent_path
from equipoise.web.http.endpoints import Endpoint
from equipoise.web.http.errors import InternalError, MethodError, error_response
from equipoise.web.http.middleware import RequestMiddleware
from equipoise.web.openapi import openapi_document
from equipoise.web.page import page_routes
from equipoise.web.page.context import PageState
from equipoise.web.service import Service
from equipoise.web.settings import ServiceSettings
from equipoise.web.tracing import TracingMiddleware

log = logging.getLogger(__name__)


class Application(Starlette):
    """The service: our dispatcher routes the API, Starlette the pages and unknown paths.

    The API does not need Starlette's middleware, because the dispatcher answers all errors. That
    middleware would take as long as the rest of a request.
    """

    def __init__(self, service: Service, endpoints: Sequence[Endpoint], **settings: Any) -> None:
        super().__init__(**settings)
        self.router.redirect_slashes = False
        self.state.service = service
        self._paths = PathTable(endpoints)
        self._api = _layered(Dispatcher(service), service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or handle a message of the lifespan."""
        if scope["type"] == "http":
            found = self._paths.find(sent_path(scope))
            if found is not None:
                scope["equipoise.found"] = found
                await self._api(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Return Starlette's own stack inside the middleware that all requests pass."""
        service: Service = self.state.service
        return _layered(super().build_middleware_stack(), service)


def _layered(app: ASGIApp, service: Service) -> ASGIApp:
    """Return an application inside the middleware that all requests pass."""
    if service.settings.cors:
        app = _allow_origins(app, service.settings.cors)
    app = RequestMiddleware(app, metrics=service.metrics)
    return app if service.tracing is None else TracingMiddleware(app, service.tracing)


def create_application(
    settings: ServiceSettings | None = None, endpoints: Sequence[Endpoint] = ENDPOINTS
) -> Application:
    """Return the service as an ASGI application; its lifespan opens and closes the database.

    `app.state.service` is the `equipoise.web.service.Service`.
    """
    service = Service(settings or ServiceSettings())
    service.description = openapi_document(endpoints)

    @asynccontextmanager
    async def lifespan(app: Application) -> AsyncIterator[None]:
        await service.open()
        if service.settings.page:
            app.state.page = PageState(service)
        try:
            yield
        finally:
            await service.close()

    return Application(
        service,
        endpoints,
        routes=page_routes() if service.settings.page else [],
        lifespan=lifespan,
        exception_handlers={
            404: _unknown_path,
            405: _wrong_method,
            EquipoiseError: _page_error,
            Exception: _failed,
        },
    )


def served_application(settings: ServiceSettings) -> Application:
    """Return the application as the process of the service runs it."""
    application = create_application(settings)
    _tune_garbage_collection()
    return application


def _tune_garbage_collection() -> None:
    """Make garbage collection rarer, and exclude the objects that exist now.

    A stream makes hundreds of thousands of objects, hardly any of them in cycles. With the default
    thresholds a process spends a quarter of its time on collections.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _allow_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Allow pages of these origins to call the API. Keys go in a header, so no cookies."""
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "PUT", "PATCH", "POST", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "If-None-Match", "X-Request-ID"],
        expose_headers=["ETag", "Retry-After", "X-Request-ID"],
        max_age=600,
    )


async def _unknown_path(request: Request, error: Exception) -> Response:
    """Answer an unknown path."""
    return error_response(NotFoundError("nothing is at this path"))


async def _wrong_method(request: Request, error: Exception) -> Response:
    """Answer a method that a page does not have."""
    headers = getattr(error, "headers", None) or {}
    allowed = tuple(headers.get("Allow", "GET").replace(" ", "").split(","))
    return error_response(MethodError(request.method[:20], allowed))


async def _failed(request: Request, error: Exception) -> Response:
    """Answer a failure in a page; the request middleware logs it."""
    identity = request.scope.get("equipoise.request", "")
    return error_response(InternalError(f"the service failed; its log has request {identity}"))


async def _page_error(request: Request, error: Exception) -> Response:
    """Answer one of our errors that a page did not handle."""
    if not isinstance(error, EquipoiseError):
        raise error
    return error_response(error)
