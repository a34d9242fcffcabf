"""`plan`: which set-ups serve a load within its objectives, with how many GPUs, for how much."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _core
from .errors import InputError
from .running import CancelToken
from .scenario import override_text
from .table import Table, columns_of, html_table, number, text_table

__all__ = ["Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """A plan's answer.

    Attributes:
        raw: the whole answer, as ``servegrid plan --format json`` prints it (docs/planning.md).
    """

    raw: dict[str, Any]

    @property
    def answer(self) -> str:
        """One sentence."""
        return str(self.raw["answer"])

    @property
    def chosen(self) -> dict[str, Any] | None:
        """The best set-up, or None when no candidate serves the load."""
        chosen: dict[str, Any] | None = self.raw["chosen"]
        return chosen

    @property
    def rejected(self) -> Table:
        """What cannot be, and why: set_up, precision, stage, reason, nearest."""
        return columns_of(self.raw["rejected"])

    @property
    def options(self) -> Table:
        """One row a set-up and price sheet: replicas, GPUs, cost a month and of a million output
        tokens, rank within its precision (0 = unranked)."""
        return columns_of(
            [
                {
                    "set_up": row["set_up"],
                    "precision": row["precision"],
                    "prices": option["prices"],
                    "rank": option.get("rank", 0),
                    "replicas": option.get("replicas", 0),
                    "gpus": option.get("gpus", 0),
                    "month": option.get("month"),
                    "per_million_output": option.get("daily_curve", {}).get("per_million_output"),
                    "reason": option.get("reason", ""),
                    "trust": row["trust"],
                }
                for row in self.raw["plans"]
                for option in row["options"]
            ]
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        heads = ["set_up", "prices", "rank", "replicas", "gpus", "month", "per_million_output", "trust"]
        table = self.options
        order = sorted(range(table.rows), key=lambda i: (str(table["prices"][i]), table["rank"][i] or 999))
        return heads, [[number(table[name][i]) for name in heads] for i in order]

    def __repr__(self) -> str:
        heads, rows = self._table()
        return f"{self.answer}\n{text_table(heads, rows, left=2)}\n{len(self.raw['rejected'])} rejected"

    def _repr_html_(self) -> str:
        heads, rows = self._table()
        table = html_table(heads, rows, caption=f"{len(self.raw['rejected'])} rejected", left=2)
        return f"<p><b>{html.escape(self.answer)}</b></p>{table}"


def plan(
    path_or_name: str | os.PathLike[str] | None = None,
    *,
    text: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    least_requests: int = 400,
    finalists: int = 3,
    sensitivity: bool = True,
    output: str | os.PathLike[str] | None = None,
    workers: int = 0,
    cancel: CancelToken | None = None,
    **keys: Any,
) -> Plan:
    """Searches every candidate of a plan for the cheapest (or the plan's other goal) that serves its
    load within its objectives.

    Args:
        path_or_name: a plan file, or the name of a plan that comes with ServeGrid.
        text: a plan as YAML, in place of a file.
        overrides: values by dotted path.
        least_requests: simulated at each load while searching.
        finalists: of each precision and price sheet: checked as whole fleets.
        sensitivity: also says what moves the answer.
        output: folder for the result files of ``servegrid plan --output`` (docs/planning.md), whole or
            not at all; ``servegrid report`` reads it.
        workers: processes; 0 = as many as there are cores.
        cancel: ends the search with KeyboardInterrupt when another thread calls its ``cancel()``.
        keys: a plan by its keys (docs/planning.md), in place of a file: ``model="llama-3.3-70b",
            load={"preset": "chat", "users": 2000}, candidates={...}, prices=["per-gpu-2026-11"]``.

    Raises:
        InputError: the plan cannot be read, with file, line and column, or the folder exists. That
            nothing serves the load is an answer: ``chosen`` is None.
    """
    if (path_or_name is not None) + (text is not None) + bool(keys) != 1:
        raise InputError("give one of: the path or name of a plan, its text, its keys")
    if least_requests < 50 or finalists < 1 or workers < 0:
        raise InputError("least_requests is at least 50, finalists at least 1, workers not negative")
    path = "" if path_or_name is None else os.fspath(path_or_name)
    if keys:
        try:
            text = json.dumps(keys)  # JSON is YAML
        except (TypeError, ValueError) as error:
            raise InputError(f"a plan is made of text, numbers, lists and mappings: {error}") from None
    changed = [(key, override_text(value)) for key, value in (overrides or {}).items()]
    folder = "" if output is None else os.fspath(output)
    said = _core.make_plan(
        path, text or "", changed, workers, least_requests, finalists, sensitivity, folder, cancel
    )
    return Plan(json.loads(said))
