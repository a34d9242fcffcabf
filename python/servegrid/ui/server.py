"""The page's server: Flask on loopback, every address with the token."""

from __future__ import annotations

import hmac
from typing import Any

from .. import catalog
from ..errors import ServeGridError
from ..report.writing import run_report
from ..running import simulate
from .answer import answer
from .state import ENGINES, KV, LOADS, WEIGHTS, state_of

LOCAL = ("127.0.0.1", "localhost")


def create_app(token: str) -> Any:
    """The WSGI application; requests without `token` or for another host are refused."""
    import flask

    app = flask.Flask(__name__)
    app.jinja_env.autoescape = True  # whatever a template's file is called

    @app.before_request
    def guard() -> Any:
        # Another site's page may send requests here, or name itself 127.0.0.1: neither knows the token.
        host = flask.request.host.rsplit(":", 1)[0]
        given = flask.request.args.get("token", "")
        if host not in LOCAL or not hmac.compare_digest(given.encode(), token.encode()):
            return flask.Response(
                "This page needs the address that `servegrid ui` printed.\n", 403, mimetype="text/plain"
            )
        return None

    @app.after_request
    def policy(response: Any) -> Any:
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; connect-src 'self'; "
            "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response

    @app.errorhandler(ServeGridError)
    def refused(e: ServeGridError) -> Any:
        return flask.Response(str(e), 400, mimetype="text/plain")

    @app.get("/")
    def page() -> str:
        state = state_of(flask.request.args)
        return flask.render_template(
            "page.html.j2", state=state, token=token, gpus=list(catalog.gpus), models=list(catalog.models),
            sheets=list(catalog.prices), weights=WEIGHTS, kvs=KV, engines=ENGINES, loads=LOADS,
        )  # fmt: skip

    @app.get("/answer")
    def fragment() -> str:
        state = state_of(flask.request.args)
        return flask.render_template("answer.html.j2", answer=answer(state), state=state)

    @app.get("/scenario.yaml")
    def scenario() -> Any:
        state = state_of(flask.request.args)
        side = min(len(state.set_ups), 2 if flask.request.args.get("side") == "B" else 1) - 1
        text = state.scenario(state.set_ups[side]).yaml
        return flask.Response(
            text,
            mimetype="application/yaml",
            headers={"Content-Disposition": 'attachment; filename="scenario.yaml"'},
        )

    @app.get("/report.html")
    def report() -> Any:
        state = state_of(flask.request.args)
        side = min(len(state.set_ups), 2 if flask.request.args.get("side") == "B" else 1) - 1
        language = "zh" if flask.request.args.get("language") == "zh" else "en"
        text = run_report(simulate(state.scenario(state.set_ups[side])), language=language)
        return flask.Response(
            text, mimetype="text/html", headers={"Content-Disposition": 'attachment; filename="report.html"'}
        )

    return app
