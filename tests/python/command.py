"""The native command: SERVEGRID_COMMAND (a build tree's), or the one on PATH."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path


def path() -> str:
    found = os.environ.get("SERVEGRID_COMMAND") or shutil.which("servegrid")
    assert found, "no servegrid command; set SERVEGRID_COMMAND"
    return found


def children() -> set[int]:
    """Processes that this one started and that are still there."""
    found = ""
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has ended since
            found += (task / "children").read_text() + " "
    return {int(pid) for pid in found.split()}


def servegrid(*args: str) -> str:
    return subprocess.run([path(), *args], check=True, capture_output=True, text=True).stdout
