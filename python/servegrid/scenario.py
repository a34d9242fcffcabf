"""A scenario: the question, and the only thing a run needs."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import _core
from .errors import InputError

__all__ = ["Scenario"]

Overrides = Mapping[str, Any]


class Scenario:
    """A question to simulate, immutable; what it says can be read as attributes.

    Made from a file or the name of a study (`load`), from YAML text (`from_yaml`), or from the
    keywords that are the command's flags with ``_`` for ``-``::

        Scenario(model="llama-3.1-70b", gpu="b200", isl=2000, osl=500, concurrency=32)

    `keywords()` lists them. Without a load (``isl``, ``osl``, ...) a scenario can be sized and
    explained, not simulated.

    Raises:
        InputError: an unknown keyword or key, a name the catalogues do not have, a value that
            cannot be; the error carries ``file``, ``line`` and ``column``.
    """

    __slots__ = ("_core_scenario", "_file", "_overrides", "_text")

    def __init__(self, **keywords: Any) -> None:
        loaded = bool(_LOAD & set(keywords))
        text = _core.text_of_flags(_flags(keywords), loaded)
        self._init(text, "keywords", [])

    def _init(self, text: str, file: str, overrides: list[tuple[str, str]]) -> None:
        self._text = text
        self._file = file
        self._overrides = overrides
        self._core_scenario = _core.read_scenario(text, file, overrides)

    @classmethod
    def _make(cls, text: str, file: str, overrides: list[tuple[str, str]]) -> Scenario:
        scenario = cls.__new__(cls)
        scenario._init(text, file, overrides)
        return scenario

    @classmethod
    def load(cls, path_or_name: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario file, or a study by its name (`servegrid.scenarios()` lists them)."""
        path = _core.locate_scenario(os.fspath(path_or_name))
        return cls._make(Path(path).read_text(encoding="utf-8"), path, [])

    @classmethod
    def from_yaml(cls, text: str, file: str = "text") -> Scenario:
        """Reads YAML text. `file` names it in messages; profiles and traces are looked up beside
        it."""
        return cls._make(text, file, [])

    def with_(self, overrides: Overrides | None = None, **keywords: Any) -> Scenario:
        """A copy with other values.

        Args:
            overrides: values by dotted path, into the scenario or into a profile it uses:
                ``{"gpu.memory.bandwidth": "+10 %", "workload.requests": 300}``.
            **keywords: as for the constructor: ``with_(gpu="mi355x", tp=2, concurrency=55)``;
                and ``seed``.
        """
        changed = list(self._overrides)
        keywords = dict(keywords)
        if "seed" in keywords:
            changed.append(("seed", override_text(keywords.pop("seed"))))
        if keywords:
            changed += _core.overrides_of_flags(_flags(keywords), self._core_scenario)
        for path, value in (overrides or {}).items():
            changed.append((path, override_text(value)))
        return self._make(self._text, self._file, changed)

    @property
    def yaml(self) -> str:
        """The whole scenario as YAML, defaults included; `from_yaml` reads it back as the same."""
        return self._core_scenario.resolved_yaml

    @property
    def source_yaml(self) -> str:
        """The YAML it was made from, before `with_`."""
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `yaml` to a file that `load` reads."""
        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            Path(temporary).write_text(self.yaml, encoding="utf-8")
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def __getitem__(self, path: str) -> Any:
        """A value of `yaml` by dotted path, as written: ``scenario["engine.max_num_seqs"]``."""
        value: Any = _core.parse_yaml(self.yaml, "scenario")
        for key in path.split("."):
            if not isinstance(value, dict) or key not in value:
                raise KeyError(f"the scenario says nothing of {path!r}")
            value = value[key]
        return value

    def _ipython_key_completions_(self) -> list[str]:
        def paths(value: Any, prefix: str) -> Iterator[str]:
            if isinstance(value, dict):
                for key, child in value.items():
                    yield from paths(child, f"{prefix}{key}.")
            else:
                yield prefix[:-1]

        return list(paths(_core.parse_yaml(self.yaml, "scenario"), ""))

    @property
    def name(self) -> str:
        """File stem, or "keywords"."""
        return self._core_scenario.name

    @property
    def description(self) -> str:
        """What it asks, in words."""
        return self._core_scenario.description

    @property
    def model(self) -> _core.Model:
        """The model, with every override applied."""
        return self._core_scenario.model

    @property
    def weights(self) -> str:
        """Format of the weights: "bf16", "fp8", "nvfp4", ..."""
        return self._core_scenario.weights

    @property
    def gpu(self) -> _core.Gpu:
        """The GPU, with every override applied."""
        return self._core_scenario.gpu

    @property
    def tp(self) -> int:
        """Tensor parallelism."""
        return self._core_scenario.tp

    @property
    def pp(self) -> int:
        """Pipeline parallelism."""
        return self._core_scenario.pp

    @property
    def ep(self) -> int:
        """Expert parallelism."""
        return self._core_scenario.ep

    @property
    def dp(self) -> int:
        """Attention data parallelism inside a replica."""
        return self._core_scenario.dp

    @property
    def gpus(self) -> int:
        """GPUs of a replica."""
        return self._core_scenario.gpus

    @property
    def replicas(self) -> int:
        """Copies of the model behind the router."""
        return self._core_scenario.replicas

    @property
    def router(self) -> str:
        """How requests are routed to replicas."""
        return self._core_scenario.router

    @property
    def engine(self) -> _core.Engine:
        """The serving engine."""
        return self._core_scenario.engine

    @property
    def knobs(self) -> _core.Knobs:
        """The engine's settings as they will be used."""
        return self._core_scenario.knobs

    @property
    def workload(self) -> _core.Workload:
        """What arrives."""
        return self._core_scenario.workload

    @property
    def concurrency(self) -> int:
        """Closed loop: requests or users at once; 0 in an open loop."""
        return self._core_scenario.workload.concurrent

    @property
    def request_rate(self) -> float:
        """Open loop: arrivals a second; 0 in a closed loop."""
        return self._core_scenario.workload.rate

    @property
    def slo(self) -> _core.Slo:
        """Objectives [s]."""
        return self._core_scenario.slo

    @property
    def prices(self) -> list[str]:
        """Names of the price sheets."""
        return self._core_scenario.prices

    @property
    def seed(self) -> int:
        """Of every random stream."""
        return self._core_scenario.seed

    @property
    def axes(self) -> dict[str, list[str]]:
        """The sweep of the scenario: values by dotted path, in the order written."""
        return dict(self._core_scenario.sweep)

    @property
    def file(self) -> str:
        """Where it was read from."""
        return self._file

    def points(self) -> list[Scenario]:
        """One scenario a point of its own sweep (last axis fastest); itself without one."""
        combinations: list[dict[str, str]] = [{}]
        for path, values in self.axes.items():
            combinations = [{**c, path: v} for c in combinations for v in values]
        return [self.with_(c) for c in combinations]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.yaml == other.yaml

    def __hash__(self) -> int:
        return hash(self.yaml)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (self._text, self._file, self._overrides))

    def __repr__(self) -> str:
        return f"<Scenario {self.title}>"

    @property
    def title(self) -> str:
        """One line: model, GPUs, engine and load."""
        parallel = f"TP {self.tp}" + "".join(
            f", {name} {n}" for name, n in (("PP", self.pp), ("EP", self.ep), ("DP", self.dp)) if n > 1
        )
        fleet = f"{self.replicas} replicas of " if self.replicas > 1 else ""
        load = (
            f"{self.request_rate:g} requests/s"
            if self.workload.kind == "open"
            else "a trace"
            if self.workload.kind == "trace"
            else f"{self.concurrency} {'users' if self.workload.kind == 'conversations' else 'at once'}"
        )
        return (
            f"{self.model.title} in {self.weights} on {fleet}{self.gpus} x {self.gpu.title} "
            f"({parallel}), {self.engine.name}, {load}"
        )

    def _repr_html_(self) -> str:
        return (
            f"<details><summary>{html.escape(self.title)}</summary>"
            f"<pre>{html.escape(self.yaml)}</pre></details>"
        )

    @staticmethod
    def keywords() -> list[str]:
        """The keywords that the constructor and `with_` take: the command's flags."""
        return [name.replace("-", "_") for name in _core.flag_names()]


def _remake(text: str, file: str, overrides: list[tuple[str, str]]) -> Scenario:
    return Scenario._make(text, file, overrides)


# Keywords that make a load; without any of them a scenario is to be sized.
_LOAD = {
    "concurrency", "max_concurrency", "users", "request_rate", "isl", "osl", "random_input_len",
    "random_output_len", "turns", "history", "turn_input", "think_time",
}  # fmt: skip


def override_text(value: Any) -> str:
    """A value as an override writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(override_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {override_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (_core.Gpu, _core.Model, _core.Engine, _core.PriceSheet)):
        return value.name
    return str(value)


def _flags(keywords: Mapping[str, Any]) -> list[str]:
    args: list[str] = []
    for name, value in keywords.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise InputError(f"{name} is an empty list")
        for one in values:
            args.append(f"--{name.replace('_', '-')}={override_text(one)}")
    return args
