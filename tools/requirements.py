#!/usr/bin/env python3
"""Prints what the named extras of pyproject.toml require, without ServeGrid itself."""

import re
import sys
from pathlib import Path


def extras() -> dict[str, list[str]]:
    """The optional dependencies; read by hand, because Python 3.10 has no TOML reader."""
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    table = text.split("[project.optional-dependencies]")[1].split("\n[", 1)[0]
    lines = re.findall(r"^(\w+) = \[(.*)\]$", table, flags=re.MULTILINE)
    return {name: re.findall(r'"([^"]+)"', items) for name, items in lines}


def required(names: list[str]) -> list[str]:
    known, found = extras(), []
    for name in names:
        for item in known[name]:
            own = re.fullmatch(r"servegrid\[(.*)\]", item)
            found += required(own[1].split(",")) if own else [item]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    print("\n".join(["numpy>=1.24", *required(sys.argv[1:])]))
