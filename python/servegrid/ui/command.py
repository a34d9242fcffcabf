"""The `servegrid-ui` command, which `servegrid ui` runs."""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import webbrowser
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until Ctrl-C. Exit codes: 0 done, 1 the port is taken, 2 bad input."""
    parser = argparse.ArgumentParser(
        prog="servegrid ui",
        description="A local page to try set-ups on: fit, latency, cost and curves, then the scenario or a report of it. "
        "It listens on this machine only, and answers nobody without the token in its address.",
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--no-browser", action="store_true", help="print the address, open nothing")
    arguments = parser.parse_args(argv)
    if not 0 <= arguments.port <= 65535:
        parser.error("--port is a number from 0 to 65535")
    try:
        from werkzeug.serving import make_server

        from .server import create_app
    except ModuleNotFoundError as e:
        print(f"servegrid ui needs {e.name}: pip install 'servegrid[ui]'", file=sys.stderr)
        return 2
    token = secrets.token_urlsafe(24)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # the log would show the token
    try:
        server = make_server("127.0.0.1", arguments.port, create_app(token), threaded=True)
    except (OSError, SystemExit) as e:
        print(f"servegrid ui: port {arguments.port} cannot be used: {e}", file=sys.stderr)
        return 1
    address = f"http://127.0.0.1:{server.server_port}/?token={token}"
    print(f"{address}\nCtrl-C ends it.", flush=True)
    if not arguments.no_browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
