"""A results folder as Python values. Nothing in it is trusted: every text is escaped where it is shown."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MAX_BYTES = 256 << 20
FORMAT_VERSION = 1


class ReportError(ValueError):
    """The folder cannot be reported on; the message says what to do."""


@dataclass
class Folder:
    """What a command left behind.

    Attributes:
        path: where it is.
        kind: "run", "points" (compare, sweep), "plan" or "tune".
        data: the JSON document.
        tables: the CSV files there, by name without ".csv"; each row a dict of texts.
        texts: scenario and launch texts, by file name.
        digest: SHA-256 of the resolved scenario (or plan), to tell two inputs apart.
    """

    path: Path
    kind: str
    data: dict[str, Any]
    tables: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    digest: str = ""


KINDS = {"summary.json": "run", "points.json": "points", "plan.json": "plan", "tune.json": "tune"}
INPUTS = ("scenario.resolved.yaml", "scenarios.resolved.yaml", "plan.resolved.yaml")


# Control characters and lone surrogates: terminals obey the first, nothing can encode the others.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _text(path: Path) -> str:
    if path.stat().st_size > MAX_BYTES:
        raise ReportError(f"{path}: larger than {MAX_BYTES >> 20} MB; write it with --no-requests-table")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as e:
        raise ReportError(f"{path}: not UTF-8 text: {e.reason}") from e


def digest_of(text: str) -> str:
    """What tells two inputs apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(folder_path: str | os.PathLike[str]) -> Folder:
    """Reads a results folder. Raises ReportError when it is none."""
    base = Path(folder_path)
    found = [name for name in KINDS if (base / name).is_file()]
    if not found:
        raise ReportError(
            f"{base}: holds no servegrid result ({', '.join(KINDS)}); write one with "
            "`servegrid run|compare|sweep|plan|tune ... --output FOLDER`"
        )
    try:
        data = _clean(json.loads(_text(base / found[0])))
    except (json.JSONDecodeError, RecursionError) as e:
        raise ReportError(f"{base / found[0]}: not JSON: {e}") from e
    if not isinstance(data, dict):
        raise ReportError(f"{base / found[0]}: expected an object")
    if data.get("format_version") != FORMAT_VERSION:
        raise ReportError(
            f"{base / found[0]}: format {data.get('format_version')!r}, this version reads {FORMAT_VERSION}"
        )
    folder = Folder(base, KINDS[found[0]], data)
    for path in sorted(base.glob("*.csv")):
        rows = csv.DictReader(_text(path).splitlines())
        folder.tables[path.stem] = [_clean(row) for row in rows]
    for path in sorted(base.iterdir()):
        if path.suffix in (".yaml", ".sh"):
            folder.texts[path.name] = _clean(_text(path))
    for name in INPUTS:
        if name in folder.texts:
            folder.digest = digest_of(folder.texts[name])
    return folder
