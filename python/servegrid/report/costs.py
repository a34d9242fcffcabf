"""The cost table of a report as CSV: numbers as they are, one row a set-up and price sheet."""

from __future__ import annotations

import csv
import io
from typing import Any

from .folder import Folder, ReportError

MONTHS = 12
FORMULA = ("=", "+", "-", "@")  # a spreadsheet would take such a text for a formula

Row = dict[str, Any]


def _of_points(folder: Folder) -> list[Row]:
    return [
        {"set_up": s["set_up"], "price_sheet": c["sheet"], "basis": "best load", "gpus": s.get("gpus"), "currency": c["currency"],
         "a_month": c["per_month"], "a_year": MONTHS * c["per_month"], "smallest_number_sold": c.get("sold_together"),
         "per_million_output_tokens": c.get("per_million_output_tokens")}
        for s in folder.data.get("set_ups", []) for c in s.get("costs", [])
    ]  # fmt: skip


def _of_plan(folder: Folder) -> list[Row]:
    return [
        {"set_up": row["set_up"], "price_sheet": o["prices"], "basis": basis.replace("_", " "), "gpus": o.get("gpus"),
         "currency": folder.data["currency"], "a_month": o.get("month"), "a_year": MONTHS * o["month"] if o.get("month") is not None else None,
         **{f"per_million_{kind}_tokens": (o.get(basis) or {}).get(f"per_million_{kind}") for kind in ("input", "cached", "output", "total")}}
        for row in folder.data.get("plans", []) for o in row.get("options", []) if o.get("possible")
        for basis in ("daily_curve", "full_load") if o.get(basis)
    ]  # fmt: skip


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value


def costs_csv(folder: Folder) -> str:
    """Raises ReportError where the folder has no costs."""
    rows = {"points": _of_points, "plan": _of_plan}.get(folder.kind, lambda _: [])(folder)
    if not rows:
        raise ReportError(
            f"{folder.path}: has no costs; name a price sheet: --prices, or prices: in the file"
        )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()
