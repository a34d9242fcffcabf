"""The report of one run."""

from __future__ import annotations

import math
from typing import Any

from . import charts, common, grounds
from .document import Answer, Block, Bullets, Chart, Document, Paragraph, Section, Table
from .folder import Folder
from .texts import Texts

GRID = 400  # points of a line over time
CDF = 100


def _epochs(rows: list[dict[str, str]]) -> list[dict[str, float]]:
    out = []
    for r in rows:
        steps, first, growth = float(r["steps"]), float(r["first_step_s"]), float(r["step_growth_s"])
        out.append(
            {
                "replica": float(r["replica"]),
                "start": float(r["start_s"]),
                "end": float(r["start_s"]) + steps * first + growth * steps * (steps - 1) / 2,
                "running": float(r["running"]),
                "waiting": float(r["waiting"]),
                "blocks": float(r["blocks_used"]),
            }
        )
    return out


def _over_time(epochs: list[dict[str, float]], column: str) -> list[tuple[float, float]]:
    """Time averages over a grid, summed over replicas."""
    end = max((e["end"] for e in epochs), default=0.0)
    if end <= 0:
        return []
    width = end / GRID
    sums = [0.0] * GRID
    for e in epochs:
        first, last = int(e["start"] / width), min(GRID - 1, int(e["end"] / width))
        for i in range(first, last + 1):
            overlap = min(e["end"], (i + 1) * width) - max(e["start"], i * width)
            if overlap > 0:
                sums[i] += e[column] * overlap / width
    return [(i * width, value) for i, value in enumerate(sums)]


def _seconds(row: dict[str, str], late: str, early: str) -> float | None:
    if not row.get(late) or not row.get(early):
        return None
    return float(row[late]) - float(row[early])


def _cdf(values: list[float], name: str) -> list[dict[str, Any]]:
    values = sorted(values)
    if len(values) < 20:
        return []
    shares = [i / CDF for i in range(CDF + 1)]
    return [
        {"name": name, "x": values[min(len(values) - 1, int(s * (len(values) - 1)))], "y": 100 * s}
        for s in shares
    ]


def _latency_charts(folder: Folder, t: Texts) -> list[Block]:
    rows = [r for r in folder.tables.get("requests", []) if r.get("outcome") == "completed"]
    blocks: list[Block] = []
    for key, late in (("ttft", "first_token_s"), ("e2el", "finish_s")):
        values = [v for r in rows if (v := _seconds(r, late, "arrival_s")) is not None]
        spec = charts.lines(
            _cdf(values, key), t(f"axis_{key}"), t("axis_share_requests"), points=False, step=True
        )
        if spec is not None:
            middle = sorted(values)[len(values) // 2]
            blocks.append(
                Chart(
                    t(f"chart_cdf_{key}"),
                    t("sample_requests", n=f"{len(values):,}"),
                    t(
                        "alt_cdf",
                        half=t.milliseconds(1e3 * middle),
                        most=t.milliseconds(1e3 * sorted(values)[int(0.99 * (len(values) - 1))]),
                    ),
                    spec,
                )
            )
    return blocks


def _asked(s: dict[str, Any]) -> float:
    return sum(s.get(k) or 0 for k in ("completed", "rejected", "failed", "cancelled", "in_flight"))


def _first_token(s: dict[str, Any], t: Texts) -> list[Block]:
    """What the mean time to first token consists of; drawn where it has parts."""
    bars = [
        {"name": t(f"part_{part}"), "value": value, "text": t.milliseconds(value)}
        for part in ("queue", "prefill", "transfer", "first_decode")
        if (value := s.get(f"mean_ttft_{part}_ms")) is not None and math.isfinite(value)
    ]
    spec = charts.bars(bars, t("axis_part"))
    if spec is None:
        return []
    alt = "; ".join(f"{b['name']}: {b['text']}" for b in bars)
    return [
        Chart(
            t("chart_first_token"),
            t("sample_requests", n=t.number(s.get("measured") or s.get("completed"))),
            alt,
            spec,
        )
    ]


def _time_charts(folder: Folder, t: Texts) -> list[Block]:
    epochs = _epochs(folder.tables.get("timeline", []))
    blocks: list[Block] = []
    sample = t("sample_epochs", n=f"{len(epochs):,}")
    rows: list[dict[str, Any]] = [
        {"name": t(column), "x": x, "y": y}
        for column in ("running", "waiting")
        for x, y in _over_time(epochs, column)
    ]
    spec = charts.lines(rows, t("axis_time"), t("axis_requests"), points=False)
    if spec is not None:
        most = max(r["y"] for r in rows if r["name"] == t("waiting"))
        blocks.append(Chart(t("chart_queue"), sample, t("alt_queue", most=t.number(most)), spec))
    peak = folder.data.get("peak_kv_cache_usage")
    used = _over_time(epochs, "blocks")
    top = max((y for _, y in used), default=0)
    if peak and top > 0:
        held = max(e["blocks"] for e in epochs)
        scale = 100 * float(peak) / held
        spec = charts.lines(
            [{"name": "kv", "x": x, "y": y * scale} for x, y in used],
            t("axis_time"),
            t("axis_kv"),
            points=False,
        )
        if spec is not None:
            blocks.append(
                Chart(t("chart_kv_time"), sample, t("alt_kv_time", peak=t.percent(float(peak))), spec)
            )
    return blocks


def run_document(folder: Folder, t: Texts) -> Document:
    """Brief: what came out and what limits it. Appendix: over time, latencies, the whole summary."""
    s = folder.data
    scenario = common.scenario_facts(folder.texts.get("scenario.resolved.yaml", ""))
    title = t("run_title", model=scenario.get("model", "?"), gpu=scenario.get("gpu", "?"))
    interval = common.intervals(s)
    key = Table(
        [t("metric"), t("predicted"), t("interval")],
        [
            [t("mean_ttft"), t.milliseconds(s.get("mean_ttft_ms")), interval("mean_ttft_ms", t.milliseconds)],
            [t("mean_tpot"), t.milliseconds(s.get("mean_tpot_ms")), interval("mean_tpot_ms", t.milliseconds)],
            [t("p99_ttft"), t.milliseconds(s.get("p99_ttft_ms")), "–"],
            [t("p99_tpot"), t.milliseconds(s.get("p99_tpot_ms")), "–"],
            [
                t("output_throughput"),
                t.number(s.get("output_throughput")),
                interval("output_throughput", t.number),
            ],
            [t("resident"), t.number(s.get("resident_conversations")), "–"],
        ],
        numeric={1, 2},
    )
    answer = t(
        "run_answer",
        ttft=t.milliseconds(s.get("mean_ttft_ms")),
        tpot=t.milliseconds(s.get("mean_tpot_ms")),
        throughput=t.number(s.get("output_throughput")),
        binds=t.known("binds", str(s.get("binds", "?"))),
    )
    lost = [f"{t(k)}: {s[k]:,.0f}" for k in ("rejected", "failed", "cancelled", "in_flight") if s.get(k)]
    said = scenario.get("description")
    events = [
        t(f"event_{k}", n=t.number(s[k]))
        for k in ("faults", "retries", "tokens_lost", "preemptions")
        if s.get(k)
    ]
    done = t("event_completed", n=t.number(s.get("completed")), asked=t.number(_asked(s)))
    brief = [
        *([Section(t("the_question"), [Paragraph(said)])] if said else []),
        Section(t("the_answer"), [Answer(answer), key]),
        Section(t("what_happened"), [Bullets([done, *events, *lost])]),
        Section(
            t("the_risk"),
            [
                Paragraph(common.trust_text(str(s.get("trust", "?")), t)),
                *([] if s.get("intervals_90") else [Paragraph(t("no_interval"))]),
            ],
        ),
        Section(t("not_known"), [Bullets([t("unknown_lengths"), t("unknown_quality"), t("unknown_model")])]),
        Section(t("how_to_reproduce"), common.reproduction(folder, t)),
    ]
    bound = common.bound_shares({t("whole_run"): {b: s.get(f"seconds_{b}", 0.0) for b in charts.BOUNDS}})
    where: list[Block] = []
    spec = charts.stacked(bound, t("axis_share_time"), {b: t(f"bound_{b}") for b in charts.BOUNDS})
    if spec is not None:
        where.append(Chart(t("chart_bounds"), t("sample_run"), common.bounds_alt(bound, t), spec))
    used = grounds.scenarios(folder)
    appendix = [
        Section(t("over_time"), _time_charts(folder, t)),
        Section(t("latencies"), [*_first_token(s, t), *_latency_charts(folder, t)]),
        Section(t("where_time_goes"), where),
        Section(t("memory"), grounds.ledgers(used, t)),
        Section(t("accuracy"), grounds.accuracy(used, t)),
        Section(
            t("whole_summary"),
            [
                Table(
                    [t("metric"), t("value")],
                    [
                        [k, t.number(v, 5)]
                        for k, v in s.items()
                        if isinstance(v, (int, float)) and math.isfinite(v)
                    ],
                    numeric={1},
                )
            ],
        ),
        common.inputs(folder, t),
    ]
    return Document(
        title, common.subtitle(scenario, t), brief, [x for x in appendix if x.blocks], common.footer(s, t)
    )
