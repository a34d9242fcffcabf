"""The report of a capacity plan: two pages for who signs, and the working behind them."""

from __future__ import annotations

import re
from typing import Any

from . import charts, common, grounds
from .common import finite
from .document import Answer, Block, Bullets, Chart, Code, Document, Paragraph, Section, Table
from .folder import Folder
from .texts import Texts

MOST_OPTIONS = 3
MOST_CURVES = 4
MONTHS = 12

Row = dict[str, Any]


def _option(row: Row, sheet: str = "") -> Row | None:
    """The row's option under a price sheet (the first possible one when none is named)."""
    for o in row.get("options", []):
        if o.get("possible") and (not sheet or o.get("prices") == sheet):
            found: Row = o
            return found
    return None


def _replicas(row: Row, option: Row) -> str:
    low, high = row.get("replicas_low_90"), row.get("replicas_high_90")
    n = row.get("replicas") or option.get("replicas")
    return f"{n} ({low}–{high})" if low and high and (low, high) != (n, n) else str(n)


def _sheet(plan: Row) -> str:
    option = _option(plan["chosen"]) if plan.get("chosen") else None
    return str(option["prices"]) if option else ""


def _ranked(plan: Row, sheet: str, precision: str) -> list[Row]:
    order: list[str] = next(
        (
            r["set_ups"]
            for r in plan.get("ranking", [])
            if r["prices"] == sheet and r["precision"] == precision
        ),
        [],
    )
    by_name = {row["set_up"]: row for row in plan.get("plans", [])}
    return [by_name[name] for name in order if name in by_name]


def _answer(plan: Row, t: Texts) -> str:
    row = plan.get("chosen")
    option = _option(row) if row else None
    if not row or not option:
        return t("plan_none", objectives=t.listed(plan.get("objectives", [])) or "–")
    text = t("plan_answer", replicas=_replicas(row, option), name=row["set_up"], gpus=option.get("gpus", "?"))
    if finite(option.get("month")):
        text += t(
            "plan_answer_cost",
            year=t.money(MONTHS * option["month"], plan["currency"]),
            month=t.money(option["month"], plan["currency"]),
            sheet=option["prices"],
        )
    if finite(option.get("wins")) is not None:
        text += t("plan_answer_wins", precision=row["precision"], share=t.percent(option["wins"]))
    return text + t("stop")


def _options_table(plan: Row, rows: list[Row], sheet: str, t: Texts) -> Table:
    headers = [
        t(k)
        for k in (
            "set_up",
            "replicas",
            "gpus",
            "a_month",
            "a_year",
            "per_million_output",
            "mean_ttft",
            "mean_tpot",
            "kv_head_room",
            "label",
        )
    ]
    out = []
    for row in rows:
        o = _option(row, sheet) or {}
        at = row.get("at_load") or {}
        out.append(
            [row["set_up"], _replicas(row, o), str(o.get("gpus", "–")), t.money(finite(o.get("month")), plan["currency"]),
             t.money(MONTHS * o["month"] if finite(o.get("month")) else None, plan["currency"]),
             t.money(finite((o.get("daily_curve") or {}).get("per_million_output")), plan["currency"]),
             t.milliseconds(at.get("mean_ttft_ms")), t.milliseconds(at.get("mean_tpot_ms")),
             t.percent(row.get("kv_head_room")), t.known("label", str(row.get("trust", "–")))]
        )  # fmt: skip
    return Table(headers, out, numeric=set(range(1, 9)))


def _cost_chart(plan: Row, rows: list[Row], sheet: str, t: Texts) -> list[Block]:
    bars = []
    for row in rows[:8]:
        o = _option(row, sheet)
        if o and finite(o.get("month")):
            bars.append(
                {"name": row["set_up"], "value": o["month"], "text": t.money(o["month"], plan["currency"])}
            )
    spec = charts.bars(bars, t("axis_cost_month", currency=plan["currency"]))
    if spec is None:
        return []
    alt = "; ".join(f"{b['name']}: {b['text']}" for b in bars)
    return [Chart(t("chart_plan_cost"), t("sample_plans", n=len(bars), sheet=sheet), alt, spec)]


def _metric(column: str) -> str:
    """ "p95_ttft_ms" -> "p95 TTFT"."""
    statistic, _, latency = column.removesuffix("_ms").partition("_")
    return f"{statistic} {latency.upper()}"


OBJECTIVE = re.compile(r"^(\S+) (TTFT|TPOT|E2EL|ITL) <= ([\d.]+) (ms|s)$")


def _limits(plan: Row) -> dict[str, float]:
    """The objectives by column of curves.csv [ms]: "p95 TTFT <= 5 s" -> {"p95_ttft_ms": 5000}."""
    found = (OBJECTIVE.match(str(o)) for o in plan.get("objectives", []))
    return {
        f"{m[1]}_{m[2].lower()}_ms": float(m[3]) * (1000 if m[4] == "s" else 1)
        for m in found
        if m is not None
    }


def _curves(folder: Folder, unit: str, t: Texts) -> list[Block]:
    """One replica of each finalist over the load; what has an objective comes first, with its line."""
    rows = folder.tables.get("curves", [])
    if not rows:
        return []
    limits = _limits(folder.data)
    columns = sorted((c for c in rows[0] if c.endswith("_ms")), key=lambda c: c not in limits)
    blocks: list[Block] = []
    for column in columns[:MOST_CURVES]:
        drawn: list[Row] = [
            {"name": r["set_up"], "x": float(r["load_per_replica"]), "y": float(r[column])}
            for r in rows
            if r.get(column) and r.get("load_per_replica")
        ]
        spec = charts.lines(
            drawn,
            t("axis_load_replica", unit=unit),
            f"{_metric(column)} [ms]",
            log=True,
            limit=limits.get(column),
            limit_text=t("slo"),
        )
        if spec is None:
            continue
        ends = {r["name"]: r for r in sorted(drawn, key=lambda r: r["x"])}
        alt = "; ".join(
            t("alt_end", name=n, value=t.number(r["y"]), load=t.number(r["x"])) for n, r in ends.items()
        )
        title = t("chart_curve", metric=_metric(column))
        blocks.append(Chart(title, t("sample_points", n=len(drawn)), alt, spec))
    return blocks


def _sensitivity(plan: Row, t: Texts) -> list[Block]:
    swings = []
    for s in plan.get("sensitivity", []):
        low, high = finite(s.get("capacity_low")), finite(s.get("capacity_high"))  # shares of the plan's own
        if low is not None and high is not None and (low, high) != (1, 1):
            swings.append({"name": s["what"], "low": 100 * (low - 1), "high": 100 * (high - 1)})
    swings.sort(key=lambda s: -abs(s["high"] - s["low"]))
    spec = charts.tornado(swings, t("axis_capacity_change"))
    if spec is None:
        return []
    alt = "; ".join(f"{s['name']}: {s['low']:+.0f} % … {s['high']:+.0f} %" for s in swings[:5])
    rows = [
        [str(s["what"]), *(f"{s.get(f'{side}_change', '?')}: {_swing(finite(s.get(f'capacity_{side}')), t)}" for side in ("low", "high"))]
        for s in plan["sensitivity"]
    ]  # fmt: skip
    table = Table([t("assumption"), t("changed_down"), t("changed_up")], rows)
    return [Chart(t("chart_sensitivity"), t("sample_sensitivity"), alt, spec), table]


def _swing(share: float | None, t: Texts) -> str:
    if share is None:
        return "–"
    return t("sustains_nothing") if share <= 0 else f"{100 * (share - 1):+.0f} %"


def _day(folder: Folder, t: Texts) -> list[Block]:
    rows = folder.tables.get("hours", [])
    drawn: list[Row] = [
        {"name": t(key), "x": float(r["hour"]), "y": float(r[key])}
        for key in ("replicas_needed", "replicas_rented") for r in rows if r.get(key) and r.get("hour")
    ]  # fmt: skip
    needed = [r["y"] for r in drawn if r["name"] == t("replicas_needed")]
    if len(set(needed)) < 2:
        return []  # the same at any hour: the load says so
    spec = charts.lines(drawn, t("axis_hour"), t("replicas"), step=True, points=False)
    if spec is None:
        return []
    alt = t("alt_day", low=t.number(min(needed)), high=t.number(max(needed)))
    return [Chart(t("chart_day"), t("sample_day"), alt, spec)]


def _rejected(plan: Row, t: Texts) -> Table | None:
    rows = [
        [
            r["set_up"],
            r.get("precision", ""),
            t.known("stage", r.get("stage", "")),
            r.get("reason", ""),
            r.get("nearest", ""),
        ]
        for r in plan.get("rejected", [])
    ]
    headers = [t(k) for k in ("set_up", "precision", "stage", "reason", "nearest")]
    return Table(headers, rows) if rows else None


def _token_costs(plan: Row, rows: list[Row], t: Texts) -> Table | None:
    out = []
    for row in rows:
        for o in row.get("options", []):
            if not o.get("possible"):
                continue
            for basis in ("daily_curve", "full_load"):
                c = o.get(basis) or {}
                out.append(
                    [row["set_up"], o["prices"], t(basis),
                     *(t.money(finite(c.get(f"per_million_{k}")), plan["currency"]) for k in ("input", "cached", "output", "total"))]
                )  # fmt: skip
    headers = [
        t(k)
        for k in (
            "set_up",
            "price_sheet",
            "basis",
            "per_million_input",
            "per_million_cached",
            "per_million_output",
            "per_million_total",
        )
    ]
    return Table(headers, out, numeric={3, 4, 5, 6}) if out else None


def _changes(plan: Row, rows: list[Row], sheet: str, t: Texts) -> list[str]:
    out = [
        s.removeprefix("reversed by: ")
        for s in plan.get("before_you_sign", [])
        if s.startswith("reversed by")
    ]
    chosen = plan.get("chosen") or {}
    for o in chosen.get("options", []):
        if o.get("possible") and o["prices"] != sheet and o.get("rank") not in (None, 1):
            out.append(t("change_rank", sheet=o["prices"], rank=o["rank"]))
    if chosen.get("one_fewer_misses"):
        out.append(t("one_fewer", text=chosen["one_fewer_misses"]))
    return out


def plan_document(folder: Folder, t: Texts) -> Document:
    """Brief, the default: question, answer, three options, cost a year, risk, what is not known, what would change it."""
    plan = folder.data
    chosen = plan.get("chosen")
    sheet = _sheet(plan)
    precision = chosen["precision"] if chosen else ""
    rows = _ranked(plan, sheet, precision)
    load = plan.get("load", {})
    question: list[Block] = []
    if plan.get("description"):
        question.append(Paragraph(plan["description"]))
    question.append(
        Paragraph(
            t(
                "plan_question",
                model=plan["model"],
                load=t.number(finite(load.get("peak"))),
                unit=load.get("unit", ""),
                objectives=t.listed(plan.get("objectives", [])) or "–",
                goal=t.known("goal", plan["goal"]),
            )
        )
    )
    signs = [s for s in plan.get("before_you_sign", []) if not s.startswith("reversed by")]
    trust = str(chosen.get("trust", "?")) if chosen else ""
    brief = [
        Section(t("the_question"), question),
        Section(t("the_answer"), [Answer(_answer(plan, t))]),
        Section(
            t("the_options"),
            [_options_table(plan, rows[:MOST_OPTIONS], sheet, t), *_cost_chart(plan, rows, sheet, t)]
            if rows
            else [],
        ),
        Section(
            t("the_risk"),
            [Bullets([common.trust_text(trust, t), t("risk_energy"), t("risk_prices", sheet=sheet or "–")])]
            if chosen
            else [],
        ),
        Section(
            t("what_would_change"),
            [Bullets(_changes(plan, rows, sheet, t))] if chosen and _changes(plan, rows, sheet, t) else [],
        ),
        Section(t("before_you_sign"), [Bullets(signs)] if signs else []),
        Section(t("not_known"), [Bullets([t("unknown_lengths"), t("unknown_quality"), t("unknown_model")])]),
    ]
    every = []
    for entry in plan.get("ranking", []):
        ranked = _ranked(plan, entry["prices"], entry["precision"])
        if ranked:
            table = _options_table(plan, ranked, entry["prices"], t)
            table.caption = f"{entry['precision']} · {entry['prices']}"
            every.append(table)
    tokens, rejected = (
        _token_costs(plan, [r for r in plan.get("plans", []) if r.get("checked") == "fleet"], t),
        _rejected(plan, t),
    )
    arithmetic = load.get("arithmetic") or []
    said = [str(x) for x in arithmetic] if isinstance(arithmetic, list) else [str(arithmetic)]
    used = grounds.scenarios(folder)
    appendix = [
        Section(t("the_load"), [*([Code("\n".join(said))] if said else []), *_day(folder, t)]),
        Section(t("all_plans"), list(every)),
        Section(t("latency_over_load"), _curves(folder, load.get("unit", ""), t)),
        Section(t("costs"), [tokens, Paragraph(t("plan_costs_note"))] if tokens else []),
        Section(t("memory"), grounds.ledgers(used, t)),
        Section(t("accuracy"), grounds.accuracy(used, t)),
        Section(t("sensitivity"), _sensitivity(plan, t)),
        Section(t("rejected"), [rejected] if rejected else []),
        Section(t("launch"), [Code(str(plan["launch"]).rstrip())] if plan.get("launch") else []),
        Section(t("provenance"), [common.provenance(t)]),
        Section(t("how_to_reproduce"), common.reproduction(folder, t)),
        common.inputs(folder, t),
    ]
    title = t("plan_title", model=plan["model"])
    return Document(
        title,
        str(plan.get("name", "")),
        [s for s in brief if s.blocks],
        [s for s in appendix if s.blocks],
        common.footer(plan, t),
    )
