"""Charts of results, comparisons and sweeps: Altair objects, so that anything can be changed.

They show in a notebook; `save` writes PNG, SVG or HTML without a network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .sizing import explain

if TYPE_CHECKING:
    import altair as alt

    from .comparing import Comparison
    from .result import Result
    from .sweeping import Row, Sweep

__all__ = ["ComparisonPlots", "ResultPlots", "SweepPlots", "save"]

Chart = Union["alt.Chart", "alt.LayerChart", "alt.VConcatChart", "alt.FacetChart"]

# Okabe and Ito (2008): told apart with any colour vision.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
WIDTH, HEIGHT = 560, 220
GRID = 300  # intervals of a line over time, each drawn at its mean

TITLES = {
    "mean_ttft_ms": "mean TTFT [ms]",
    "p99_ttft_ms": "p99 TTFT [ms]",
    "mean_tpot_ms": "mean TPOT [ms]",
    "p99_tpot_ms": "p99 TPOT [ms]",
    "mean_e2el_ms": "mean end-to-end latency [ms]",
    "output_throughput": "output tokens/s",
    "request_throughput": "requests/s",
    "concurrency": "requests at once",
    "workload.conversations.concurrent": "users",
    "workload.closed.concurrent": "requests at once",
    "request_rate": "requests/s",
}


def save(chart: Chart, path: str | os.PathLike[str], scale: float = 2) -> None:
    """Writes a chart as PNG, SVG or HTML (by the name's end), with no network. HTML carries the
    scripts it needs; `scale` is of PNG."""
    form: Any = Path(path).suffix.lower().lstrip(".")
    if form not in ("png", "svg", "html"):
        raise InputError(f"{os.fspath(path)}: a chart is saved as .png, .svg or .html")
    if form == "html":
        chart.save(os.fspath(path), format=form, inline=True)
    else:
        chart.save(os.fspath(path), format=form, scale_factor=scale)


def _altair() -> Any:
    try:
        import altair
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError("charts need Altair: pip install 'servegrid[plot]'") from e
    return altair


def _styled(chart: Any) -> Any:
    return (
        chart.configure_view(stroke=None)
        .configure_axis(gridColor="#e5e5e5", domainColor="#888", tickColor="#888", titleFontWeight="normal")
        .configure_title(anchor="start", fontWeight="normal", fontSize=13)
        .configure_legend(titleFontWeight="normal")
    )


def _data(rows: list[dict[str, Any]]) -> Any:
    return _altair().Data(values=rows)


def _over_time(result: Result, column: str, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of a column of the timeline between each two edges, summed over replicas; an idle
    replica counts as 0."""
    timeline = result.timeline
    total = np.zeros(len(edges) - 1)
    for replica in np.unique(timeline["replica"]):
        mine = timeline["replica"] == replica
        start, end, value = (timeline[c][mine] for c in ("start_s", "end_s", column))
        # The integral: it grows inside an epoch and is level between two.
        grown = np.cumsum(value * (end - start))
        at = np.stack([start, end], axis=1).ravel()
        integral = np.stack([grown - value * (end - start), grown], axis=1).ravel()
        total += np.diff(np.interp(edges, at, integral)) / np.diff(edges)
    return total


class ResultPlots:
    """Charts of one run."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def _times(self) -> NDArray[np.float64]:
        timeline = self._result.timeline
        if timeline.rows == 0:
            raise InputError("nothing ran: there is no timeline to draw")
        return np.linspace(0, float(timeline["end_s"].max()), GRID + 1)

    def _lines(self, series: dict[str, NDArray[np.float64]], title: str) -> Any:
        alt = _altair()
        times = self._times()
        rows = [
            {"t": float(t), "value": float(v), "what": name}
            for name, values in series.items()
            for t, v in zip(times[:-1], values, strict=True)
        ]
        return (
            alt.Chart(_data(rows))
            .mark_line(interpolate="step-after", strokeWidth=1.5)
            .encode(
                x=alt.X("t:Q", title="simulated time [s]"),
                y=alt.Y("value:Q", title=title),
                color=alt.Color(
                    "what:N", title=None, sort=list(series),
                    scale=alt.Scale(domain=list(series), range=PALETTE[: len(series)]),
                ),
                tooltip=[alt.Tooltip("t:Q", title="s", format=".1f"), "what:N",
                         alt.Tooltip("value:Q", format=".4~g")],
            )
            .properties(width=WIDTH, height=HEIGHT)
        )  # fmt: skip

    def timeline(self) -> Chart:
        """Requests running and waiting over time, and the KV pool below."""
        alt = _altair()
        times = self._times()
        requests = self._lines(
            {name: _over_time(self._result, name, times) for name in ("running", "waiting")},
            "requests",
        ).properties(title=self._result.scenario.title)
        return _styled(alt.vconcat(requests, self._kv()).resolve_scale(color="independent"))  # type: ignore[no-any-return]

    def _kv(self) -> Any:
        times = self._times()
        pool = self._result.num_blocks * self._result.scenario.replicas
        share = 100 * _over_time(self._result, "blocks_used", times) / max(1, pool)
        alt = _altair()
        return (
            self._lines({"KV blocks held by running requests": share}, "% of the KV pool")
            .properties(height=HEIGHT // 2)
            .encode(y=alt.Y("value:Q", title="% of the KV pool", scale=alt.Scale(domain=[0, 100])))
        )

    def kv_usage(self) -> Chart:
        """Share of the KV pool in use over time."""
        return _styled(self._kv().properties(title=self._result.scenario.title))  # type: ignore[no-any-return]

    def latency_cdf(self) -> Chart:
        """How many requests were served within a time: TTFT, TPOT and end-to-end latency."""
        alt = _altair()
        shares = np.linspace(0, 1, 201)
        rows = []
        for name, column, factor in (
            ("TTFT [ms]", "ttft_s", 1e3),
            ("TPOT [ms]", "tpot_s", 1e3),
            ("end-to-end [s]", "e2el_s", 1.0),
        ):
            values = self._result.requests[column]
            values = values[~np.isnan(values)] * factor
            if len(values) == 0:
                continue
            rows += [
                {"what": name, "value": float(v), "share": float(100 * s)}
                for s, v in zip(shares, np.quantile(values, shares), strict=True)
            ]
        chart = (
            alt.Chart(_data(rows))
            .mark_line(color=PALETTE[0])
            .encode(
                x=alt.X("value:Q", title=None),
                y=alt.Y("share:Q", title="% of requests"),
                tooltip=["what:N", alt.Tooltip("value:Q", format=".4~g"), "share:Q"],
            )
            .properties(width=WIDTH // 3, height=HEIGHT)
            .facet(column=alt.Column("what:N", title=None, sort=["TTFT [ms]", "TPOT [ms]"]))
            .resolve_scale(x="independent")
            .properties(title=self._result.scenario.title)
        )
        return _styled(chart)  # type: ignore[no-any-return]

    def step_breakdown(self) -> Chart:
        """Where a decode step of the run's mean batch spends its time, operator by operator."""
        alt = _altair()
        timeline = self._result.timeline
        weight = (timeline["end_s"] - timeline["start_s"]) * (timeline["sequences"] > 0)
        if weight.sum() <= 0:
            raise InputError("nothing decoded: there is no step to take apart")
        batch = max(1, round(float(np.average(timeline["sequences"], weights=weight))))
        held = float(np.average(timeline["context_tokens"], weights=weight))
        context = max(1, round(held / batch))
        step = explain(self._result.scenario, batch=batch, context=context)
        rows = [{"operator": op.name, "ms": op.seconds * 1e3, "bound": op.bound} for op in step.operators]
        bounds = ["memory", "compute", "fabric", "latency", "host"]
        chart = (
            alt.Chart(_data(rows))
            .mark_bar()
            .encode(
                y=alt.Y("operator:N", title=None, sort="-x"),
                x=alt.X("sum(ms):Q", title="ms of a step"),
                color=alt.Color(
                    "bound:N", title="bound by", scale=alt.Scale(domain=bounds, range=PALETTE[:5])
                ),
                tooltip=["operator:N", "bound:N", alt.Tooltip("sum(ms):Q", format=".4~g")],
            )
            .properties(
                width=WIDTH,
                title=f"{batch} sequences of {context:,} tokens: {step.seconds * 1e3:.2f} ms a step",
            )
        )
        return _styled(chart)  # type: ignore[no-any-return]

    def gantt(self, first: int = 40) -> Chart:
        """The lives of the first requests: waiting, prefill (to the first token), decode."""
        alt = _altair()
        table = self._result.requests
        shown = np.flatnonzero(~np.isnan(table["finish_s"]))[:first]
        phases = (
            ("waiting", "arrival_s", "scheduled_s"),
            ("prefill", "scheduled_s", "first_token_s"),
            ("decode", "first_token_s", "finish_s"),
        )
        rows = [
            {"id": int(table["id"][i]), "phase": phase,
             "start": float(table[a][i]), "end": float(table[b][i])}
            for i in shown
            for phase, a, b in phases
        ]  # fmt: skip
        names = [phase for phase, _, _ in phases]
        colours = ["#bbbbbb", PALETTE[1], PALETTE[0]]
        chart = (
            alt.Chart(_data(rows))
            .mark_bar(height=5)
            .encode(
                x=alt.X("start:Q", title="simulated time [s]"),
                x2="end:Q",
                y=alt.Y("id:O", title="request", axis=alt.Axis(labelOverlap=True)),
                color=alt.Color("phase:N", title=None, scale=alt.Scale(domain=names, range=colours)),
                tooltip=["id:O", "phase:N", alt.Tooltip("start:Q", format=".3f"),
                         alt.Tooltip("end:Q", format=".3f")],
            )
            .properties(width=WIDTH, height=max(80, 8 * len(shown)), title=self._result.scenario.title)
        )  # fmt: skip
        return _styled(chart)  # type: ignore[no-any-return]

    def pareto(self, concurrency: Sequence[int] | None = None) -> Chart:
        """Speed for each user against throughput of a GPU, over the load. Simulates the scenario at
        other loads: `concurrency` (default: halves and doubles of its own)."""
        from .sweeping import sweep

        own = self._result.scenario.concurrency
        if own < 1:
            raise InputError("the trade-off over the load needs a closed workload")
        loads = concurrency or sorted({max(1, round(own * f)) for f in (0.125, 0.25, 0.5, 1, 2, 4)})
        runs = sweep({"concurrency": list(loads)}, self._result.scenario)
        return SweepPlots(runs).pareto()


def _label(row: Row, axes: Sequence[str]) -> str:
    return ", ".join(str(row[name]) for name in axes)


class SweepPlots:
    """Charts over the points of a sweep."""

    def __init__(self, runs: Sweep) -> None:
        self._runs = runs

    def _load_axis(self) -> str:
        """The axis that is a load: the last one whose values are numbers."""
        for name in reversed(self._runs.axes):
            if all(_is_number(row[name]) for row in self._runs.rows):
                return name
        raise InputError("no axis of the sweep is a number; name one: x=...")

    def metric(self, metric: str, x: str | None = None, log: bool = False) -> Chart:
        """A metric over an axis, one line for each combination of the others."""
        return self._metrics([metric], x, log)

    def metrics(self, metrics: Sequence[str], x: str | None = None, log: bool = False) -> Chart:
        """Several metrics, one above the other."""
        return self._metrics(list(metrics), x, log)

    def _metrics(self, metrics: list[str], x: str | None, log: bool) -> Chart:
        alt = _altair()
        across = x or self._load_axis()
        others = [name for name in self._runs.axes if name != across]
        charts = []
        for name in metrics:
            rows = [
                {"x": float(row[across]), "y": row[name], "set_up": _label(row, others) or "all"}
                for row in self._runs.rows
                if name in row
            ]
            if not rows:
                raise InputError(f"no point has the metric {name!r}")
            chart = (
                alt.Chart(_data(rows))
                .mark_line(point=True)
                .encode(
                    x=alt.X("x:Q", title=TITLES.get(across, across)),
                    y=alt.Y("y:Q", title=TITLES.get(name, name),
                            scale=alt.Scale(type="log" if log else "linear")),
                    color=_colour(alt, rows, bool(others)),
                    tooltip=["set_up:N", "x:Q", alt.Tooltip("y:Q", format=".4~g")],
                )
                .properties(width=WIDTH, height=HEIGHT)
            )  # fmt: skip
            charts.append(chart)
        return _styled(charts[0] if len(charts) == 1 else alt.vconcat(*charts))  # type: ignore[no-any-return]

    def pareto(self) -> Chart:
        """Output tokens/s of a user (1 / TPOT) against output tokens/s of a GPU: up and right is
        better. One line for each set-up, a point for each load."""
        import json

        alt = _altair()
        numbers = [n for n in self._runs.axes if all(_is_number(r[n]) for r in self._runs.rows)]
        load = numbers[-1] if numbers else None
        others = [name for name in self._runs.axes if name != load]
        rows = []
        for row in self._runs.rows:
            if row["error"] or "mean_tpot_ms" not in row:
                continue
            point = json.loads(row["point"])
            rows.append(
                {
                    "user": 1e3 / row["mean_tpot_ms"],
                    "gpu": row["output_throughput"] / (point["gpus"] * point["replicas"]),
                    "load": float(row[load]) if load else 0,
                    "set_up": _label(row, others) or "all",
                }
            )
        if not rows:
            raise InputError("no point has a TPOT")
        return _styled(_pareto(alt, rows, bool(others), TITLES.get(load or "", load or "")))  # type: ignore[no-any-return]


def _pareto(alt: Any, rows: list[dict[str, Any]], several: bool, load: str) -> Any:
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("user:Q", title="output tokens/s of each user"),
        y=alt.Y("gpu:Q", title="output tokens/s of each GPU"),
        order="load:Q",
        color=_colour(alt, rows, several),
        tooltip=["set_up:N", alt.Tooltip("load:Q", title=load), alt.Tooltip("user:Q", format=".4~g"),
                 alt.Tooltip("gpu:Q", format=".4~g")],
    )  # fmt: skip
    labels = base.mark_text(align="left", dx=6, dy=-5, fontSize=10).encode(text="load:Q")
    title = f"numbers at the points: {load}" if load else ""
    return (base.mark_line(point=True) + labels).properties(
        width=WIDTH, height=int(1.4 * HEIGHT), title=title
    )


def _colour(alt: Any, rows: list[dict[str, Any]], several: bool) -> Any:
    if not several:
        return alt.value(PALETTE[0])
    names = list(dict.fromkeys(row["set_up"] for row in rows))
    if len(names) > len(PALETTE):
        return alt.Color("set_up:N", title=None, sort=names)
    return alt.Color("set_up:N", title=None, scale=alt.Scale(domain=names, range=PALETTE[: len(names)]))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


class ComparisonPlots:
    """Charts of a comparison."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def metric(self, metric: str = "mean_tpot_ms") -> Chart:
        """The metric of each scenario: mean and interval over the seeds."""
        alt = _altair()
        rows = []
        for label in self._comparison.labels:
            mean, low, high = self._comparison.mean(label, metric)
            if mean == mean:
                known = low == low
                rows.append({"label": label, "mean": mean, "low": low if known else mean,
                             "high": high if known else mean})  # fmt: skip
        if not rows:
            raise InputError(f"no scenario has the metric {metric!r}")
        base = alt.Chart(_data(rows)).encode(
            y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=320))
        )
        bars = base.mark_bar(color=PALETTE[0], height=14).encode(
            x=alt.X("mean:Q", title=TITLES.get(metric, metric)),
            tooltip=["label:N", alt.Tooltip("mean:Q", format=".5~g")],
        )
        spread = base.mark_rule(color="black", strokeWidth=2).encode(x="low:Q", x2="high:Q")
        return _styled((bars + spread).properties(width=WIDTH))  # type: ignore[no-any-return]

    def differences(self, metric: str = "mean_tpot_ms") -> Chart:
        """Paired differences to the first scenario with their intervals; zero is no difference."""
        alt = _altair()
        rows = []
        for label in self._comparison.labels[1:]:
            d = self._comparison.difference(label, metric)
            if d.low == d.low:
                rows.append({"label": label, "difference": d.difference, "low": d.low, "high": d.high})
        if not rows:
            raise InputError("differences with intervals need two scenarios and two seeds")
        base = alt.Chart(_data(rows)).encode(
            y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=320))
        )
        title = f"{TITLES.get(metric, metric)}, against {self._comparison.labels[0]}"
        dots = base.mark_point(filled=True, size=60, color=PALETTE[1]).encode(
            x=alt.X("difference:Q", title=title)
        )
        spread = base.mark_rule(color=PALETTE[1], strokeWidth=2).encode(x="low:Q", x2="high:Q")
        zero = alt.Chart(_data([{"zero": 0}])).mark_rule(color="#888").encode(x="zero:Q")
        return _styled((zero + spread + dots).properties(width=WIDTH))  # type: ignore[no-any-return]
