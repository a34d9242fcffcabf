"""The catalogues as mappings: ``servegrid.gpus["b200"]``, ``servegrid.models``, ``.prices``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from . import _core
from .errors import InputError, UnknownNameError
from .table import html_table, number, text_table

__all__ = ["Catalog", "engines", "gpus", "models", "prices", "scenarios"]

Item = TypeVar("Item")


class Catalog(Mapping[str, Item], Generic[Item]):
    """Names to entries. A name is written as people write it: catalogue key, alias, Hugging Face id,
    any case. Raises UnknownNameError (an InputError and a KeyError) that lists the nearest names.

    Prints as a table; its keys complete in a notebook. It is read anew each time, so it follows
    ``SERVEGRID_DATA`` and files that you add.
    """

    def __init__(
        self,
        what: str,
        names: Callable[[], list[str]],
        get: Callable[[str], Item],
        heads: Sequence[str],
        row: Callable[[Item], Sequence[object]],
    ) -> None:
        self._what, self._names, self._get = what, names, get
        self._heads, self._row = heads, row

    def __getitem__(self, name: str) -> Item:
        try:
            return self._get(name)
        except InputError as e:
            if e.line is None:
                raise UnknownNameError(str(e)) from None
            raise

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._get(name)
        except InputError as e:
            if e.line is not None:
                raise
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()

    def _rows(self) -> list[list[str]]:
        return [[str(name), *map(number, self._row(self._get(name)))] for name in self._names()]

    def __repr__(self) -> str:
        return text_table(["name", *self._heads], self._rows(), left=2)

    def _repr_html_(self) -> str:
        return html_table(["name", *self._heads], self._rows(), left=2)


def _gpu_row(gpu: _core.Gpu) -> list[object]:
    tera = 1e12
    return [
        gpu.title,
        gpu.memory.label_bytes / 1e9,
        gpu.memory.bandwidth / tera,
        gpu.peak.get("bf16", 0) / tera,
        gpu.peak.get("fp8", 0) / tera or None,
        gpu.peak.get("fp4", 0) / tera or None,
        gpu.power,
    ]


def _model_row(model: _core.Model) -> list[object]:
    total, active = _core.parameters(model)
    return [
        model.title,
        total / 1e9,
        active / 1e9,
        model.depth,
        model.max_context,
        model.native_format,
    ]


gpus: Catalog[_core.Gpu] = Catalog(
    "GPU",
    _core.gpu_names,
    _core.gpu,
    ["title", "memory GB", "TB/s", "bf16 TFLOPS", "fp8 TFLOPS", "fp4 TFLOPS", "W"],
    _gpu_row,
)
models: Catalog[_core.Model] = Catalog(
    "model",
    _core.model_names,
    _core.model,
    ["title", "billion parameters", "active", "layers", "context", "weights"],
    _model_row,
)
engines: Catalog[_core.Engine] = Catalog(
    "engine",
    _core.engine_names,
    _core.engine,
    ["engine", "version", "released", "policy"],
    lambda e: [e.engine, e.version, e.date, e.policy],
)
prices: Catalog[_core.PriceSheet] = Catalog(
    "price sheet",
    _core.price_names,
    _core.prices,
    ["title", "date", "currency", "GPUs offered"],
    lambda s: [s.title, s.date, s.currency, ", ".join(sorted({o.gpu for o in s.offers}))],
)


def scenarios() -> list[str]:
    """Names of the studies that come with ServeGrid."""
    return _core.scenario_names()
