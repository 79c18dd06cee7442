"""The application: Starlette with our endpoints, for one service."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from equipoise.errors import ApproximationWarning, EquipoiseError, NotFoundError
from equipoise.web.api.endpoints import ENDPOINTS
from equipoise.web.http.dispatch import Dispatcher, PathTable, sent_path
from equipoise.web.http.endpoints import Endpoint
from equipoise.web.http.errors import InternalError, MethodError, error_response
from equipoise.web.http.middleware import RequestMiddleware, configure_logs
from equipoise.web.openapi import openapi_document
from equipoise.web.page import page_routes
from equipoise.web.page.context import PageState
from equipoise.web.service import Service
from equipoise.web.settings import ServiceSettings, settings_from_environment


class Application(Starlette):
    """The service: Starlette routes the pages and unknown paths, our dispatcher the API.

    The API needs none of Starlette's middleware, as the dispatcher answers all errors. That
    middleware would cost as much as the rest of a request.
    """

    def __init__(self, service: Service, endpoints: Sequence[Endpoint], **settings: Any) -> None:
        super().__init__(**settings)
        self.router.redirect_slashes = False
        self.state.service = service
        self._paths = PathTable(endpoints)
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
        """Return what Starlette does with a request, behind the layers that all requests pass."""
        service: Service = self.state.service
        return _layered(super().build_middleware_stack(), service)


def _layered(app: ASGIApp, service: Service) -> ASGIApp:
    """Return an application behind the layers that all requests pass."""
    if service.settings.cors:
        app = _allow_origins(app, service.settings.cors)
    return RequestMiddleware(app, metrics=service.metrics)


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
            Exception: _fault,
        },
    )


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


async def _unknown_path(request: Request, error: Exception) -> Response:
    """Answer a path that no route has."""
    return error_response(NotFoundError("nothing is at this path"))


async def _wrong_method(request: Request, error: Exception) -> Response:
    """Answer a method that the route of a page does not take."""
    headers = getattr(error, "headers", None) or {}
    allowed = tuple(headers.get("Allow", "GET").replace(" ", "").split(","))
    return error_response(MethodError(request.method[:20], allowed))


async def _fault(request: Request, error: Exception) -> Response:
    """Answer a fault of a page; the request middleware logs what happened."""
    identity = request.scope.get("equipoise.request", "")
    return error_response(InternalError(f"the service failed; its log has request {identity}"))


async def _page_error(request: Request, error: Exception) -> Response:
    """Answer an error of ours that a page did not answer itself."""
    if not isinstance(error, EquipoiseError):
        raise error
    return error_response(error)
