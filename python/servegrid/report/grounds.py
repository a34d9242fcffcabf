"""What an answer rests on: memory ledgers, and what is known of the error for exactly these GPUs and engines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import ServeGridError
from ..scenario import Scenario
from ..sizing import Ledger, size
from .document import Block, Paragraph, Table
from .folder import Folder
from .texts import Texts

GIB = 1024.0**3
MOST_LEDGERS = 7


def _scenario(text: str) -> Scenario | None:
    try:
        return Scenario.from_yaml(text)
    except ServeGridError:
        return None  # pools, or a profile that is no longer there: nothing is said of it


def scenarios(folder: Folder) -> list[Scenario]:
    """The first scenario of every set-up in the folder."""
    for name in ("scenario.resolved.yaml", "winner.yaml", "scenarios.resolved.yaml"):
        if name in folder.texts:
            found: dict[tuple[Any, ...], Scenario] = {}
            wanted = len(folder.data.get("set_ups") or [1])
            for text in re.split(r"^---$", folder.texts[name], flags=re.MULTILINE):
                if not text.strip() or len(found) >= min(wanted, MOST_LEDGERS):
                    continue
                scenario = _scenario(text)
                if scenario is not None:
                    key = (
                        scenario.model.name,
                        scenario.weights,
                        scenario.gpu.name,
                        scenario.tp,
                        scenario.pp,
                        str(scenario.engine.name),
                    )
                    found.setdefault(key, scenario)  # fmt: skip
            return list(found.values())
    return []


def _title(scenario: Scenario) -> str:
    return f"{scenario.model.name} {scenario.weights} · {scenario.gpu.title} · TP {scenario.tp} · {scenario.engine.name}"


def ledgers(used: Iterable[Scenario], t: Texts) -> list[Block]:
    """One ledger a set-up, per GPU."""
    blocks: list[Block] = []
    for scenario in used:
        try:
            ledger: Ledger = size(scenario)
        except ServeGridError:
            continue
        rows = [[line.name, f"{line.bytes / GIB:,.2f}", line.source] for line in ledger.lines]
        rows.append([t("left_for_kv"), f"{sum(line.bytes for line in ledger.lines) / GIB:,.2f}", ""])
        blocks.append(
            Table([t("per_gpu"), "GiB", t("source")], rows, caption=f"{_title(scenario)} · {ledger.verdict}", numeric={1})
        )  # fmt: skip
    return blocks


@cache
def measured_rows() -> dict[str, Any]:
    """accuracy.json, which tools/report-accuracy makes from docs/accuracy.md."""
    text = (Path(__file__).parent / "accuracy.json").read_text(encoding="utf-8")
    rows: dict[str, Any] = json.loads(text)
    return rows


def accuracy(used: Iterable[Scenario], t: Texts) -> list[Block]:
    """Errors on the measured runs of each (GPU, engine) used; where there are none, that is said."""
    rows, missing = [], []
    pairs = {(s.gpu.name, str(s.engine.name).split("-")[0]): s.gpu.title for s in used}
    for (gpu, engine), title in pairs.items():
        known = [r for r in measured_rows()["rows"] if (r["gpu"], r["engine"]) == (gpu, engine)]
        if not known:
            missing.append(t("accuracy_none", gpu=title, engine=engine))
        rows += [
            [f"{title}, {engine}", r["model"], f"{r['runs']:,}",
             *(f"{r[k]:g} %" for k in ("tpot_median", "tpot_p90", "ttft_median", "ttft_p90"))]
            for r in known
        ]  # fmt: skip
    blocks: list[Block] = [Paragraph(text) for text in missing]
    if rows:
        headers = [
            t(k)
            for k in ("gpu_and_engine", "model", "runs", "tpot_median", "tpot_p90", "ttft_median", "ttft_p90")
        ]
        blocks = [Paragraph(t("accuracy_text")), Table(headers, rows, numeric={2, 3, 4, 5, 6}), *blocks]
    return blocks
