"""The page: what the service shows to people, rendered on the server."""

from equipoise.web.page.router import page_routes

__all__ = ["page_routes"]
