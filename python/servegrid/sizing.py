"""`size`: the memory ledger. `explain`: one engine step, operator by operator."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from .scenario import Scenario
from .table import Table, html_table, number, text_table

__all__ = ["Ledger", "Step", "explain", "size"]

_GIB = 1024.0**3


def scenario_of(scenario: Scenario | str | None, keywords: dict[str, Any]) -> Scenario:
    """A scenario, the name or path of one, or keywords; keywords override."""
    if scenario is None:
        return Scenario(**keywords)
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    return scenario.with_(**keywords) if keywords else scenario


@dataclass(frozen=True)
class Ledger:
    """What is resident on one GPU, what is left for KV, and how many conversations that holds.

    Attributes:
        scenario: what was sized.
        raw: every number, by its name in the library (bytes, tokens, blocks).
    """

    scenario: Scenario
    raw: _core.Ledger

    @property
    def fits(self) -> bool:
        """Whether one conversation of `context_tokens` fits."""
        return self.raw.fits

    @property
    def conversations(self) -> float:
        """Conversations of `context_tokens` that one replica holds, unrounded."""
        return self.raw.conversations

    @property
    def context_tokens(self) -> int:
        """Length of a conversation [tokens]."""
        return self.raw.context_tokens

    @property
    def kv_capacity_tokens(self) -> int:
        """Tokens that one replica's KV pool holds."""
        return self.raw.kv_capacity_tokens

    @property
    def gpus_needed(self) -> int | None:
        """Smallest group of these GPUs that holds the model; None: none up to 64 does."""
        return self.raw.gpus_needed or None

    @property
    def lines(self) -> list[_core.LedgerLine]:
        """The ledger per GPU [B]; the lines sum to the KV pool."""
        return self.raw.lines

    @property
    def verdict(self) -> str:
        """One sentence."""
        if not self.fits:
            need = self.gpus_needed
            return "Does not fit." + (f" It needs {need} GPUs." if need else "")
        may = "May not fit (inside the reserve's band): " if self.raw.may_not_fit else "Fits: "
        return f"{may}{self.conversations:,.2f} conversations of {self.context_tokens:,} tokens."

    def to_table(self) -> Table:
        """The lines as columns: bytes per GPU."""
        return Table(
            {
                "name": np.array([line.name for line in self.lines], dtype=object),
                "bytes": np.array([line.bytes for line in self.lines]),
                "source": np.array([line.source for line in self.lines], dtype=object),
            },
            units={"bytes": "B"},
        )

    def _rows(self) -> list[list[str]]:
        return [
            [line.name, f"{line.bytes / _GIB:,.3f}", f"{line.bytes / 1e9:,.3f}", line.source]
            for line in self.lines
        ]

    def __repr__(self) -> str:
        table = text_table(["per GPU", "GiB", "GB", "source"], self._rows())
        return f"{table}\n{self.verdict}\n{self.raw.note}".rstrip()

    def _repr_html_(self) -> str:
        table = html_table(["per GPU", "GiB", "GB", "source"], self._rows())
        title = html.escape(self.scenario.title.rsplit(",", 1)[0])
        return f"<p>{title}</p>{table}<p><b>{html.escape(self.verdict)}</b> {html.escape(self.raw.note)}</p>"


def size(
    scenario: Scenario | str | None = None,
    *,
    context: int | None = None,
    rule: str = "engine",
    nominal: bool = False,
    **keywords: Any,
) -> Ledger:
    """Does the model fit, and how many conversations does it hold?

    Args:
        scenario: a scenario, or the name or path of one; or give keywords alone:
            ``size(model="llama-3.1-70b", gpu="b200")``.
        context: length of a conversation [tokens]; default: the workload's, or 8192.
        rule: "engine" (the engine's own accounting), "articles" or "weights_only".
        nominal: count the parameters in the model's name in place of the real number.
        **keywords: as for `Scenario`; they override the scenario.

    Raises:
        InputError, InfeasibleError: the engine or the format does not run on the GPU. What does not
            fit raises nothing: ``fits`` is False.
    """
    asked = scenario_of(scenario, keywords)
    if context is None:
        whole = _core.conversation_tokens(asked._core_scenario)
        context = whole if scenario is not None else 8192
    return Ledger(asked, _core.size(asked._core_scenario, rule, context, nominal))


@dataclass(frozen=True)
class Step:
    """One engine step: FLOPs, bytes, time, and what bounds each operator. Numbers are per GPU."""

    scenario: Scenario
    raw: _core.Step

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return self.raw.seconds

    @property
    def seconds_by_bound(self) -> dict[str, float]:
        """Seconds by what bounds them: compute, memory, fabric, latency, host."""
        return self.raw.seconds_by_bound

    @property
    def operators(self) -> list[_core.Operator]:
        """Every operator, all its calls together."""
        return self.raw.operators

    @property
    def trust(self) -> str:
        """ "measured", "inherited", "data sheet" or "what-if": the weakest number used."""
        return self.raw.trust

    def to_table(self) -> Table:
        """The operators as columns."""
        ops = self.operators
        text = {
            name: np.array([getattr(op, name) for op in ops], dtype=object)
            for name in ("name", "bound", "efficiency", "source")
        }
        numbers = {
            name: np.array([getattr(op, name) for op in ops], dtype=float)
            for name in ("count", "flops", "bytes", "fabric_bytes", "seconds")
        }
        return Table(
            {"name": text["name"], **numbers, **{k: v for k, v in text.items() if k != "name"}},
            units={"bytes": "B", "fabric_bytes": "B", "seconds": "s"},
        )

    def _rows(self) -> list[list[str]]:
        return [
            [
                op.name,
                op.bound,
                str(op.count),
                number(op.flops / 1e9),
                number(op.bytes / 1e6),
                f"{op.seconds * 1e6:,.1f}",
                f"{100 * op.seconds / self.seconds if self.seconds else 0:.1f}",
                op.source,
            ]
            for op in self.operators
        ]

    _heads = ("operator", "bound", "calls", "GFLOP", "MB", "us", "share %", "source")

    def __repr__(self) -> str:
        return f"{text_table(self._heads, self._rows(), left=2)}\n{self.seconds * 1e3:.3f} ms; {self.trust}"

    def _repr_html_(self) -> str:
        caption = f"{self.seconds * 1e3:.3f} ms a step; {self.trust}"
        return html_table(self._heads, self._rows(), caption=caption, left=2)


def explain(
    scenario: Scenario | str | None = None,
    *,
    batch: int = 1,
    context: int = 1024,
    prefill: int = 0,
    cached: int = 0,
    **keywords: Any,
) -> Step:
    """One engine step, operator by operator.

    Args:
        scenario: a scenario, or the name or path of one; or keywords alone.
        batch: decoding sequences.
        context: tokens of context of each of them.
        prefill: new tokens of a prefill chunk in the same step; 0 = none.
        cached: tokens of context under that chunk.
        **keywords: as for `Scenario`; they override the scenario.

    Raises:
        InputError, InfeasibleError: as `size`; or nothing to explain.
    """
    asked = scenario_of(scenario, keywords)
    return Step(asked, _core.explain(asked._core_scenario, batch, context, prefill, cached))
