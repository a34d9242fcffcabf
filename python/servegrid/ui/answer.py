"""What the page shows of a question: fit, latency, cost and curves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .. import catalog
from ..errors import ServeGridError
from ..report import charts
from ..report.texts import Texts
from ..result import Result
from ..running import simulate
from ..sizing import size
from .state import CURVE, SetUp, State

HOURS = 730
SECONDS = 3600


@dataclass
class Side:
    """One set-up's answer. `error` says why there is none."""

    title: str
    error: str = ""
    verdict: str = ""
    rows: list[tuple[str, str, str]] | None = None  # what, value, 90 % interval
    cost: str = ""
    yaml: str = ""


@dataclass
class Answer:
    sides: list[Side]
    charts: list[tuple[str, str]]  # question, SVG


def _title(set_up: SetUp) -> str:
    return f"{set_up.gpu}, TP {set_up.tp}, {set_up.engine}" + (
        "" if set_up.weights == "auto" else f", {set_up.weights}"
    )


def _cost(state: State, set_up: SetUp, result: Result, t: Texts) -> str:
    if not state.prices:
        return "choose a price sheet"
    sheet = catalog.prices[state.prices]
    offer = sheet.find(result.scenario.gpu.name, result.scenario.gpus)
    if offer is None:
        return f"{sheet.title}: not sold"
    month = offer.month(result.scenario.gpus)
    tokens = result.summary["output_throughput"] * SECONDS * HOURS / 1e6
    return (
        f"{t.money(month, sheet.currency)} a month; {t.money(month / tokens, sheet.currency)} per million output tokens "
        f"if this load lasts all month"
    )


def _side(state: State, set_up: SetUp, result: Result, t: Texts) -> Side:
    ledger = size(result.scenario, context=state.isl + state.osl)
    s = result.summary

    def row(what: str, metric: str, show: Any) -> tuple[str, str, str]:
        low_high = s.intervals.get(metric)
        return (what, show(s.get(metric)), f"{show(low_high[0])} – {show(low_high[1])}" if low_high else "")

    rows = [
        row("mean time to first token", "mean_ttft_ms", t.milliseconds),
        row("p99 time to first token", "p99_ttft_ms", t.milliseconds),
        row("mean time per output token", "mean_tpot_ms", t.milliseconds),
        row("output tokens/s", "output_throughput", t.number),
        row("requests waiting, average", "mean_waiting", t.number),
        ("what binds", result.binds, ""),
        ("trust", result.trust, ""),
    ]
    return Side(
        _title(set_up),
        verdict=ledger.verdict,
        rows=rows,
        cost=_cost(state, set_up, result, t),
        yaml=result.scenario.yaml,
    )


def _attempt(state: State, set_up: SetUp, times: float) -> Result | str:
    try:
        return simulate(state.scenario(set_up, times))
    except ServeGridError as e:
        return str(e)


def answer(state: State) -> Answer:
    """Simulates both set-ups over the load, each run in a process of its own."""
    t = Texts("en")
    jobs = [(set_up, times) for set_up in state.set_ups for times in CURVE]
    with ThreadPoolExecutor(max_workers=4) as pool:
        results = list(pool.map(lambda job: _attempt(state, *job), jobs))
    sides, points = [], []
    for i, set_up in enumerate(state.set_ups):
        curve = results[i * len(CURVE) : (i + 1) * len(CURVE)]
        now = curve[CURVE.index(1.0)]
        sides.append(
            Side(_title(set_up), error=now) if isinstance(now, str) else _side(state, set_up, now, t)
        )
        points += [(f"{'AB'[i]}: {_title(set_up)}", r) for r in curve if isinstance(r, Result)]
    axis = "users at once" if state.load == "users" else "requests/s"
    drawn = []
    for question, metric, unit, log in (
        ("How fast does each user read?", "mean_tpot_ms", "mean TPOT [ms]", False),
        ("How long before the first word?", "mean_ttft_ms", "mean TTFT [ms]", True),
        ("How much work gets done?", "output_throughput", "output tokens/s", False),
    ):
        rows = []
        for name, r in points:
            if metric not in r.summary:
                continue
            low_high = r.summary.intervals.get(metric)
            band = {"low": low_high[0], "high": low_high[1]} if low_high else {}
            x = r.scenario.concurrency if state.load == "users" else r.scenario.request_rate
            rows.append({"name": name, "x": x, "y": r.summary[metric], **band})
        spec = charts.lines(rows, axis, unit, log=log)
        if spec is not None:
            drawn.append((question, charts.svg(spec, f"ui-{metric}")))
    return Answer(sides, drawn)
