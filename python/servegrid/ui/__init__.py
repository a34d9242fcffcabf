"""A local page to try set-ups on: `servegrid ui`. Loopback only, with a token in the URL."""

from __future__ import annotations

from .command import main
from .server import create_app

__all__ = ["create_app", "main"]
