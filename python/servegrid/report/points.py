"""The report of a comparison or a sweep: several set-ups, usually over a load."""

from __future__ import annotations

from typing import Any

from . import charts, common, grounds
from .common import finite
from .document import Answer, Block, Bullets, Chart, Document, Paragraph, Section, Table
from .folder import Folder
from .texts import Texts

MOST_OPTIONS = 3
MONTHS = 12

Point = dict[str, Any]


def _load(p: Point) -> float | None:
    return finite(p.get("users")) or finite(p.get("request_rate"))


def _ran(folder: Folder) -> list[Point]:
    return [p for p in folder.data.get("points", []) if p.get("feasible") and p.get("summary")]


def _name(p: Point, several_models: bool) -> str:
    """A line's name: the set-up, and the model and format where they differ."""
    return f"{p['model']} {p['weights']}, {p['set_up']}" if several_models else str(p["set_up"])


class _Points:
    """The points that ran, and how to draw them."""

    def __init__(self, folder: Folder, t: Texts) -> None:
        self.t = t
        self.points = _ran(folder)
        self.several = len({(p["model"], p["weights"]) for p in self.points}) > 1
        self.by_users = all(finite(p.get("users")) for p in self.points)
        self.axis = t("axis_users") if self.by_users else t("axis_rate")
        self.sample = t("sample_points", n=len(self.points))

    def name(self, p: Point) -> str:
        return _name(p, self.several)

    def rows(self, metric: str, scale: float = 1.0) -> list[dict[str, Any]]:
        rows = []
        for p in self.points:
            x, y = _load(p), finite(p["summary"].get(metric))
            if x is None or y is None:
                continue
            low, high = p.get("intervals_90", {}).get(metric, (None, None))
            band = {"low": low * scale, "high": high * scale} if low is not None else {}
            rows.append({"name": self.name(p), "x": x, "y": y * scale, **band})
        return rows

    def over_load(
        self, key: str, metric: str, *, scale: float = 1.0, log: bool = False, slo: float | None = None
    ) -> list[Block]:
        t = self.t
        rows = self.rows(metric, scale)
        spec = charts.lines(
            rows,
            self.axis,
            t(f"axis_{key}"),
            log=log,
            limit=slo,
            limit_text=t("slo") if slo is not None else "",
        )
        if spec is None:
            return []
        ends = {r["name"]: r for r in sorted(rows, key=lambda r: r["x"])}
        said = "; ".join(
            t("alt_end", name=n, value=t.number(r["y"]), load=t.number(r["x"])) for n, r in ends.items()
        )
        sample = self.sample + (" " + t("sample_band") if any("low" in r for r in rows) else "")
        return [Chart(t(f"chart_{key}"), sample, said, spec)]

    def latency(self) -> list[Block]:
        slo = next((p["slo_tpot_s"] for p in self.points if p.get("slo_tpot_s")), None)
        slo_ttft = next((p["slo_ttft_s"] for p in self.points if p.get("slo_ttft_s")), None)
        return [
            *self.over_load("tpot", "mean_tpot_ms", slo=1e3 * slo if slo else None),
            *self.over_load("ttft_load", "mean_ttft_ms", scale=1e-3, log=True, slo=slo_ttft),
        ]

    def kv(self) -> list[Block]:
        return [
            *self.over_load("kv", "mean_kv_cache_usage", scale=100),
            *self.over_load("waiting", "mean_waiting"),
        ]

    def trade_off(self) -> list[Block]:
        """One picture a precision: 16-bit and 4-bit answers are different products."""
        t = self.t
        blocks: list[Block] = []
        for weights in dict.fromkeys(p["weights"] for p in self.points):
            rows = []
            for p in self.points:
                tpot, rate = (
                    finite(p["summary"].get("mean_tpot_ms")),
                    finite(p["summary"].get("output_throughput")),
                )
                load = _load(p)
                if p["weights"] != weights or not tpot or not rate or load is None:
                    continue
                gpus = p["gpus"] * p["replicas"]
                rows.append(
                    {
                        "name": self.name(p),
                        "x": 1e3 / tpot,
                        "y": rate / gpus,
                        "order": load,
                        "text": t.number(load),
                    }
                )
            spec = charts.trade_off(rows, t("axis_user_speed"), t("axis_gpu_speed"))
            if spec is not None:
                best = max(rows, key=lambda r: r["y"])
                alt = t("alt_trade_off", name=best["name"], gpu=t.number(best["y"]), user=t.number(best["x"]))
                blocks.append(Chart(t("chart_trade_off", weights=weights), self.sample, alt, spec))
        return blocks

    def bounds(self) -> list[Block]:
        t = self.t
        busiest: dict[str, Point] = {}
        for p in self.points:
            name = self.name(p)
            if name not in busiest or (finite(p["summary"].get("output_throughput")) or 0) > (
                finite(busiest[name]["summary"].get("output_throughput")) or 0
            ):
                busiest[name] = p
        seconds = {n: dict(p["load"]["seconds_by_bound"]) for n, p in busiest.items()}
        rows = common.bound_shares(seconds)
        spec = charts.stacked(rows, t("axis_share_time"), {b: t(f"bound_{b}") for b in charts.BOUNDS})
        if spec is None:
            return []
        return [Chart(t("chart_bounds_best"), t("sample_best"), common.bounds_alt(rows, t), spec)]

    def table(self) -> Table:
        t = self.t
        rows = []
        for p in self.points:
            s, interval = p["summary"], common.intervals(p)
            rows.append(
                [
                    self.name(p), t.number(_load(p)), t.milliseconds(s.get("mean_ttft_ms")),
                    interval("mean_ttft_ms", t.milliseconds), t.milliseconds(s.get("mean_tpot_ms")),
                    interval("mean_tpot_ms", t.milliseconds), t.number(s.get("output_throughput")),
                    t.percent(p["load"].get("kv_use_mean")), t.number(s.get("preemptions"), 6),
                    t.known("binds", str(p.get("binds", ""))), t.known("label", str(p.get("trust", ""))),
                ]
            )  # fmt: skip
        headers = [t(k) for k in ("set_up", "load", "mean_ttft", "interval", "mean_tpot", "interval", "output_throughput",
                                  "kv_use", "preemptions", "what_binds", "label")]  # fmt: skip
        return Table(headers, rows, numeric=set(range(1, 9)))


def _users(s: dict[str, Any], t: Texts) -> str:
    at = s.get("users_at_tpot_slo")
    if not at:
        return "–"
    if at.get("none"):
        return t("none_meets")
    text = t.count(at["users"])
    return t("at_least", value=text) if at.get("at_least") else text


def _value(s: dict[str, Any]) -> float:
    at = s.get("users_at_tpot_slo")
    if at:
        return finite(at.get("users")) or 0.0
    return finite(s.get("best_output_throughput")) or 0.0


def _options(ups: list[dict[str, Any]], t: Texts, trust: dict[str, str]) -> Table:
    shown = sorted(ups, key=_value, reverse=True)[:MOST_OPTIONS]
    sheets = list(dict.fromkeys(c["sheet"] for s in shown for c in s.get("costs", [])))
    headers = [t("set_up"), t("resident"), t("users_in_slo"), t("best_throughput")]
    headers += [t("cost_a_year", sheet=sheet) for sheet in sheets] + [t("label")]
    rows = []
    for s in shown:
        row = [
            s["set_up"],
            t.number(s.get("resident_conversations")),
            _users(s, t),
            t.number(s.get("best_output_throughput")),
        ]
        for sheet in sheets:
            cost = next((c for c in s.get("costs", []) if c["sheet"] == sheet), None)
            row.append(t.money(MONTHS * cost["per_month"], cost["currency"]) if cost else t("not_sold"))
        rows.append([*row, t.known("label", trust.get(s["set_up"], "–"))])
    return Table(headers, rows, numeric=set(range(1, 4 + len(sheets))))


def _answer(ups: list[dict[str, Any]], slo: float | None, t: Texts) -> str:
    ordered = sorted(ups, key=_value, reverse=True)[:MOST_OPTIONS]
    if slo and any(s.get("users_at_tpot_slo") for s in ordered):
        said = [t("carries", name=s["set_up"], users=_users(s, t)) for s in ordered]
        return t("points_answer_slo", slo=t.milliseconds(1e3 * slo), said=t.listed(said))
    said = [t("reaches", name=s["set_up"], rate=t.number(s.get("best_output_throughput"))) for s in ordered]
    return t("points_answer", said=t.listed(said))


def _per_token(ups: list[dict[str, Any]]) -> dict[str, list[tuple[float, str]]]:
    order: dict[str, list[tuple[float, str]]] = {}
    for s in ups:
        for c in s.get("costs", []):
            if finite(c.get("per_million_output_tokens")):
                order.setdefault(c["sheet"], []).append((c["per_million_output_tokens"], s["set_up"]))
    return {sheet: sorted(costs) for sheet, costs in order.items()}


def _risks(folder: Folder, ups: list[dict[str, Any]], trust: dict[str, str], t: Texts) -> list[str]:
    risks = []
    for label in dict.fromkeys(trust.values()):
        names = [n for n, known in trust.items() if known == label]
        risks.append(t("risk_trust", names=t.listed(names), text=t.known("trust", label)))
    for p in folder.data.get("points", []):
        if p.get("may_not_fit"):
            risks.append(t("risk_may_not_fit", name=p["set_up"]))
            break
    for s in ups:
        for c in s.get("costs", []):
            if c.get("sold_together", 0) > s.get("gpus", 0):
                risks.append(
                    t("risk_sold_together", name=s["set_up"], sheet=c["sheet"], n=c["sold_together"],
                      cost=t.money(MONTHS * c["sold_per_month"], c["currency"]))
                )  # fmt: skip
    return risks


def _changes(folder: Folder, ups: list[dict[str, Any]], t: Texts) -> list[str]:
    out = []
    winners = {sheet: costs[0][1] for sheet, costs in _per_token(ups).items() if costs}
    if len(set(winners.values())) > 1:
        said = t.listed([f"{sheet}: {name}" for sheet, name in winners.items()])
        out.append(t("change_sheets", said=said))
    for sheet, costs in _per_token(ups).items():
        if len(costs) > 1 and costs[0][0] > 0:
            out.append(t("change_price", sheet=sheet, name=costs[0][1], other=costs[1][1],
                         percent=f"{100 * (costs[1][0] / costs[0][0] - 1):.0f} %"))  # fmt: skip
    slo = next((p["slo_tpot_s"] for p in _ran(folder) if p.get("slo_tpot_s")), None)
    if slo:
        for s in sorted(ups, key=_value, reverse=True)[:1]:
            at = s.get("users_at_tpot_slo") or {}
            near = [
                p for p in _ran(folder)
                if p["set_up"] == s["set_up"] and finite(p.get("users")) and p["users"] <= (at.get("users") or 0)
                and "mean_tpot_ms" in p.get("intervals_90", {})
            ]  # fmt: skip
            if near:
                high = max(near, key=lambda p: p["users"])["intervals_90"]["mean_tpot_ms"][1]
                if high > 1e3 * slo:
                    out.append(
                        t(
                            "change_interval",
                            name=s["set_up"],
                            high=t.milliseconds(high),
                            slo=t.milliseconds(1e3 * slo),
                        )
                    )
    return out or [t("change_nothing")]


def _costs(ups: list[dict[str, Any]], t: Texts) -> Table | None:
    rows = []
    for s in ups:
        for c in s.get("costs", []):
            rows.append(
                [s["set_up"], c["sheet"], t.money(c["per_month"], c["currency"]), t.money(MONTHS * c["per_month"], c["currency"]),
                 t.money(c.get("per_million_output_tokens"), c["currency"]), str(c.get("sold_together", ""))]
            )  # fmt: skip
        rows += [[s["set_up"], sheet, t("not_sold"), "–", "–", "–"] for sheet in s.get("no_offer_in", [])]
    headers = [
        t(k) for k in ("set_up", "price_sheet", "a_month", "a_year", "per_million_output", "sold_together")
    ]
    return Table(headers, rows, numeric={2, 3, 4, 5}) if rows else None


def points_document(folder: Folder, t: Texts) -> Document:
    """Brief: the question, the answer, three options, risk, what would change it. Appendix: every chart and table."""
    drawn = _Points(folder, t)
    ups = folder.data.get("set_ups", [])
    trust = {p["set_up"]: str(p.get("trust", "?")) for p in drawn.points}
    scenario = common.scenario_facts(folder.texts.get("scenarios.resolved.yaml", ""))
    slo = next((p["slo_tpot_s"] for p in drawn.points if p.get("slo_tpot_s")), None)
    rejected = [p for p in folder.data.get("points", []) if not p.get("feasible")]
    reasons = list(dict.fromkeys((p["set_up"], p["reason"], p.get("nearest", "")) for p in rejected))

    brief = []
    if scenario.get("description"):
        brief.append(Section(t("the_question"), [Paragraph(scenario["description"])]))
    brief += [
        Section(t("the_answer"), [Answer(_answer(ups, slo, t) if ups else t("nothing_ran"))]),
        Section(t("the_options"), [_options(ups, t, trust), *drawn.latency()[:1]] if ups else []),
        Section(t("the_risk"), [Bullets(_risks(folder, ups, trust, t))] if ups else []),
        Section(t("what_would_change"), [Bullets(_changes(folder, ups, t))] if ups else []),
        Section(t("not_known"), [Bullets([t("unknown_lengths"), t("unknown_quality"), t("unknown_model")])]),
        Section(t("how_to_reproduce"), common.reproduction(folder, t)),
    ]
    throughput = drawn.over_load("throughput", "output_throughput")
    costs = _costs(ups, t)
    used = grounds.scenarios(folder)
    appendix = [
        Section(t("latency_over_load"), drawn.latency()),
        Section(t("throughput_and_speed"), [*throughput, *drawn.trade_off()]),
        Section(t("kv_and_queue"), drawn.kv()),
        Section(t("where_time_goes"), drawn.bounds()),
        Section(t("costs"), [costs, Paragraph(t("costs_note"))] if costs else []),
        Section(
            t("rejected"),
            [Table([t("set_up"), t("reason"), t("nearest")], [list(r) for r in reasons])] if reasons else [],
        ),
        Section(t("memory"), grounds.ledgers(used, t)),
        Section(t("accuracy"), grounds.accuracy(used, t)),
        Section(t("all_points"), [drawn.table()]),
        Section(t("provenance"), [common.provenance(t)]),
        common.inputs(folder, t),
    ]
    title = t("points_title", model=scenario.get("model", "?"), n=len(ups))
    return Document(title, common.subtitle({k: v for k, v in scenario.items() if k in ("model", "weights", "engine")}, t),
                    [s for s in brief if s.blocks], [s for s in appendix if s.blocks], common.footer(folder.data, t))  # fmt: skip
