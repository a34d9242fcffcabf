"""What the reports share: provenance, risk, how to reproduce."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable
from typing import Any

from .document import Block, Bullets, Code, Paragraph, Section, Table
from .folder import Folder
from .texts import Texts

# Plain one-line keys of a resolved scenario; anything nested stays in the appendix as it is.
SIMPLE = re.compile(r"^(description|model|weights|replicas|router|seed):\s*(.*?)\s*$", re.MULTILINE)
GPU = re.compile(r"^replica:\s*\{.*?\bgpu:\s*([^,}]+)", re.MULTILINE)
LAYOUT = re.compile(r"^replica:\s*\{(.*)\}", re.MULTILINE)
POOL = re.compile(
    r"^  (\S+):\n    role: \S+\n    model: (\S+)\n    weights: (\S+)\n    gpu: (\S+)\n    tp: (\d+)\n(?:    (?:pp|ep|dp): \d+\n)*"
    r"    replicas: (\d+)",
    re.MULTILINE,
)
ENGINE = re.compile(r"^\s+profile:\s*(\S+)", re.MULTILINE)


def _plain(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return text


def scenario_facts(text: str) -> dict[str, str]:
    """What a heading needs of a resolved scenario (the first, where there are several)."""
    first = text.split("\n---\n")[0]
    facts = {key: _plain(value) for key, value in SIMPLE.findall(first)}
    for name, pattern in (("gpu", GPU), ("layout", LAYOUT), ("engine", ENGINE)):
        match = pattern.search(first)
        if match:
            facts[name] = _plain(match.group(1))
    pools = POOL.findall(first)
    if pools:  # each with a model and GPUs of its own; the heading names them all
        facts.setdefault("model", ", ".join(dict.fromkeys(_plain(model) for _, model, *_ in pools)))
        said = [f"{n} x {name.strip()} ({gpu}, TP {tp})" for name, _, _, gpu, tp, n in pools]
        facts["layout"] = " + ".join(said)
        facts["weights"] = ", ".join(dict.fromkeys(weights for _, _, weights, *_ in pools))
        facts["gpu"] = ", ".join(dict.fromkeys(gpu for _, _, _, gpu, *_ in pools))
    return facts


def subtitle(scenario: dict[str, str], t: Texts) -> str:
    parts = [scenario[k] for k in ("model", "weights", "layout", "engine") if scenario.get(k)]
    return " · ".join(parts)


def intervals(summary: dict[str, Any]) -> Callable[[str, Callable[[float], str]], str]:
    """A function (metric, format) -> "low – high" of the 90 % interval."""
    known = summary.get("intervals_90") or {}

    def text(metric: str, show: Callable[[float], str]) -> str:
        if metric not in known:
            return "–"
        low, high = known[metric]
        return f"{show(low)} – {show(high)}"

    return text


def trust_text(trust: str, t: Texts) -> str:
    return t.known("trust", trust)


def bound_shares(seconds: dict[str, dict[str, float]]) -> list[dict[str, Any]]:
    rows = []
    for name, parts in seconds.items():
        total = sum(parts.values())
        if total > 0:
            rows += [{"name": name, "part": b, "value": 100 * v / total} for b, v in parts.items() if v > 0]
    return rows


def bounds_alt(rows: list[dict[str, Any]], t: Texts) -> str:
    """The largest part of each bar, in words."""
    most: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["name"] not in most or row["value"] > most[row["name"]]["value"]:
            most[row["name"]] = row
    said = [
        t("alt_bound", name=n, part=t(f"bound_{r['part']}"), share=f"{r['value']:.0f} %")
        for n, r in most.items()
    ]
    return "; ".join(said)


def command_of(folder: Folder) -> str:
    """A command that gives the same result from the input written beside it."""
    for name, verb in (("plan.resolved.yaml", "plan"), ("scenario.resolved.yaml", "run")):
        if name in folder.texts:
            return f"servegrid {verb} {shlex.quote(str(folder.path / name))} --output again"
    several = "scenarios.resolved.yaml"
    if several in folder.texts:  # one document a point; the command takes one a file
        return (
            f"csplit -s -z -b %03d.yaml {shlex.quote(str(folder.path / several))} '/^---$/' '{{*}}'\n"
            'for point in xx*.yaml; do servegrid run "$point" --output "again/$point"; done'
        )
    return ""


def reproduction(folder: Folder, t: Texts) -> list[Block]:
    version = t(
        "versions", format=folder.data.get("format_version", "?"), model=folder.data.get("model_version", "?")
    )
    blocks: list[Block] = []
    command = command_of(folder)
    if command:
        blocks.append(Code(command))
    items = [version]
    if folder.digest:
        items.append(t("input_hash", digest=folder.digest))
    return [*blocks, Bullets(items)]


def inputs(folder: Folder, t: Texts) -> Section:
    """The resolved input itself: with it the report stands alone."""
    blocks: list[Block] = [Paragraph(t("inputs_text"))]
    for name in ("scenario.resolved.yaml", "plan.resolved.yaml", "scenarios.resolved.yaml"):
        if name in folder.texts:
            text = folder.texts[name]
            shown = text.split("\n---\n")[0] if name == "scenarios.resolved.yaml" else text
            blocks.append(Code(shown.rstrip()))
            if shown != text:
                blocks.append(Paragraph(t("first_of_many", n=text.count("\n---\n") + 1, name=name)))
    return Section(t("inputs"), blocks if len(blocks) > 1 else [])


def footer(data: dict[str, Any], t: Texts) -> str:
    return t("footer", model=data.get("model_version", "?"))


def provenance(t: Texts) -> Table:
    """What the labels mean."""
    return Table(
        [t("label"), t("meaning")],
        [
            [t.known("label", k), t.known("trust", k)]
            for k in ("measured", "inherited", "data sheet", "what-if")
        ],
    )


EXPONENT = re.compile(r"\d+(?:\.\d+)?e[+-]\d+")


def plain_numbers(text: str, t: Texts) -> str:
    """Numbers with an exponent as people write them: 4.443e+05 -> 444,300."""
    return EXPONENT.sub(lambda m: t.number(float(m.group()), 4), text)


def finite(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value)
