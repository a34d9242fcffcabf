"""What the page's URL says: the whole question. Two set-ups under one load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..scenario import Scenario

WEIGHTS = ("auto", "bf16", "fp8", "nvfp4", "mxfp4", "int4-g128")
KV = ("auto", "bf16", "fp8")
ENGINES = ("vllm", "sglang", "trtllm")
LOADS = ("users", "rate", "people")
CURVE = (0.125, 0.25, 0.5, 1.0, 1.5, 2.0)  # of the asked load
SPREAD = 0.2  # lengths are uniform in 80 to 120 % of the mean
MOST_REQUESTS = 1500  # a simulation of the page; the command runs as many as one likes


@dataclass(frozen=True)
class SetUp:
    """A set-up as the form has it."""

    gpu: str
    tp: int
    weights: str
    kv: str
    engine: str


@dataclass(frozen=True)
class State:
    """The form."""

    model: str = "llama-3.1-70b"
    set_ups: tuple[SetUp, ...] = (SetUp("b200", 1, "auto", "auto", "vllm"),)
    load: str = "users"
    users: int = 16
    rate: float = 1.0
    people: int = 2000
    chats: float = 4.0
    busiest: float = 12.0  # [%] of the day's chats in the busiest hour
    isl: int = 2000
    osl: int = 500
    prices: str = ""
    values: dict[str, str] = field(default_factory=dict)  # as written, for the form

    @property
    def request_rate(self) -> float:
        """Arrivals a second of an open load."""
        if self.load == "people":
            return self.people * self.chats * self.busiest / 100 / 3600
        return self.rate

    @property
    def arithmetic(self) -> str:
        if self.load != "people":
            return ""
        return (
            f"{self.people:,} people x {self.chats:g} chats a day x {self.busiest:g} % in the busiest hour / 3,600 s "
            f"= {self.request_rate:.3g} requests/s"
        )

    def scenario(self, set_up: SetUp, times: float = 1.0) -> Scenario:
        """The scenario of a set-up at `times` the load."""
        keywords: dict[str, Any] = {
            "model": self.model, "gpu": set_up.gpu, "tp": set_up.tp, "engine": set_up.engine,
            "isl": self.isl, "osl": self.osl,
        }  # fmt: skip
        if set_up.weights != "auto":
            keywords["weights"] = set_up.weights
        if set_up.kv != "auto":
            keywords["kv"] = set_up.kv
        if self.prices:
            keywords["prices"] = self.prices
        if self.load == "users":
            users = max(1, round(self.users * times))
            keywords |= {"concurrency": users, "num_prompts": min(MOST_REQUESTS, max(50, 8 * users))}
        else:
            keywords |= {"request_rate": f"{self.request_rate * times:.6g}", "num_prompts": 400}
        kind = "closed" if self.load == "users" else "open"
        spread = {f"workload.{kind}.prompt": _around(self.isl), f"workload.{kind}.output": _around(self.osl)}
        return Scenario(**keywords).with_(spread)


def _around(tokens: int) -> dict[str, list[str]]:
    """Lengths drawn around the given mean: equal ones keep a closed loop in lockstep, which real prompts do not."""
    low, high = max(1, round(tokens * (1 - SPREAD))), max(1, round(tokens * (1 + SPREAD)))
    return {"uniform": [f"{low} tokens", f"{high} tokens"]}


def _number(values: Mapping[str, str], name: str, low: float, high: float, otherwise: float) -> float:
    text = values.get(name, "")
    if not text:
        return otherwise
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise InputError(f"{name} is a number from {low:g} to {high:g}, not {text[:40]!r}")
    return value


def _choice(values: Mapping[str, str], name: str, among: tuple[str, ...], otherwise: str) -> str:
    value = values.get(name) or otherwise
    if value not in among:
        raise InputError(f"{name} is one of {', '.join(among)}, not {value[:40]!r}")
    return value


def state_of(values: Mapping[str, str]) -> State:
    """Reads a query string. Raises InputError with the field's name."""
    base = State()
    sides = []
    for suffix in ("", "2"):
        gpu = values.get(f"gpu{suffix}") or ("" if suffix else base.set_ups[0].gpu)
        if gpu:
            sides.append(
                SetUp(
                    gpu[:60],
                    int(_number(values, f"tp{suffix}", 1, 64, 1)),
                    _choice(values, f"weights{suffix}", WEIGHTS, "auto"),
                    _choice(values, f"kv{suffix}", KV, "auto"),
                    _choice(values, f"engine{suffix}", ENGINES, "vllm"),
                )
            )
    return State(
        model=(values.get("model") or base.model)[:80],
        set_ups=tuple(sides),
        load=_choice(values, "load", LOADS, base.load),
        users=int(_number(values, "users", 1, 2000, base.users)),
        rate=_number(values, "rate", 0.001, 200, base.rate),
        people=int(_number(values, "people", 1, 10_000_000, base.people)),
        chats=_number(values, "chats", 0.01, 1000, base.chats),
        busiest=_number(values, "busiest", 1, 100, base.busiest),
        isl=int(_number(values, "isl", 1, 1_000_000, base.isl)),
        osl=int(_number(values, "osl", 2, 100_000, base.osl)),
        prices=(values.get("prices") or "")[:60],
        values={k: v for k, v in values.items() if k != "token"},
    )
