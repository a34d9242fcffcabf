"""The tutorial, the examples and the notebooks run; reference and types are complete."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from servegrid import _core

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))

EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))


def _snippets() -> str:
    """The `python` blocks of the page, in order, as one program."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.M | re.S)
    assert len(blocks) >= 8
    return "\n".join(blocks)


def test_the_tutorial_runs(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _snippets()], cwd=tmp_path, check=True)
    assert {"mine.yaml", "cdf.png", "store.sqlite"} <= {p.name for p in tmp_path.iterdir()}


def test_the_reference_is_up_to_date() -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "python-docs", "--check"], check=True)


def test_pictures_are_there() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    shown = re.findall(r"\((images/[^)]+|\.\./python/[^)]+)\)", page)
    assert len(shown) > 10
    assert [name for name in shown if not (ROOT / "docs" / name).exists()] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebooks_run(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "checked in without outputs"
    client.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()


def _run(*args: str) -> None:
    done = subprocess.run([sys.executable, "-m", *args], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_are_complete(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    sources = ["python/servegrid", "python/examples", "tests/python"]
    _run("mypy", f"--cache-dir={tmp_path}", "--strict", *sources)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    done = subprocess.run([sys.executable, path, store], check=True, capture_output=True, text=True)
    assert done.stdout


def _public(names: Iterable[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_stub_has_what_the_module_has() -> None:
    tree = ast.parse((ROOT / "python" / "servegrid" / "_core.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    variables = {
        node.target.id
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    runtime = _public(vars(_core))
    assert runtime == _public({*functions, *classes, *variables})
    for name, node in functions.items():
        said = str(getattr(_core, name).__doc__).splitlines()[0]
        parameters = re.findall(r"(\w+): ", said.split(" -> ")[0])
        assert parameters == [arg.arg for arg in node.args.args], name
    for name, owner in classes.items():
        members = {item.name for item in owner.body if isinstance(item, ast.FunctionDef)}
        assert _public(vars(getattr(_core, name))) == _public(members), name


def test_ruff_is_clean() -> None:
    pytest.importorskip("ruff")
    _run("ruff", "check", "--no-cache", "python", "tests/python", "tools/requirements.py")
    _run("ruff", "check", "--no-cache", "tools/report-accuracy")
    _run("ruff", "format", "--no-cache", "--check", "python/servegrid", "tests/python")
