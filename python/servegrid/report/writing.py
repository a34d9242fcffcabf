"""Documents as HTML and Markdown, whole files or none."""

from __future__ import annotations

import datetime
import os
import tempfile
from pathlib import Path
from typing import Any

from .. import _core
from . import charts
from .costs import costs_csv
from .document import Document
from .folder import FORMAT_VERSION, Folder, ReportError, digest_of, read
from .plan import plan_document
from .points import points_document
from .run import run_document
from .texts import LANGUAGES, Texts
from .tune import tune_document

DOCUMENTS = {"run": run_document, "points": points_document, "plan": plan_document, "tune": tune_document}
TEMPLATES = {".html": "report.html.j2", ".md": "report.md.j2"}


def _environment(html: bool) -> Any:
    try:
        import jinja2
    except ModuleNotFoundError as e:
        raise ReportError("reports need Jinja2 and Altair: pip install 'servegrid[report]'") from e
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["cell"] = _markdown_cell
    environment.filters["svg"] = lambda chart, number: charts.svg(chart.spec, f"chart-{number}")
    return environment


def _markdown_cell(text: str) -> str:
    """Text that stays text in Markdown, also inside a table."""
    out = text.replace("\\", "\\\\")
    for mark in "|*_`<>[]#":
        out = out.replace(mark, "\\" + mark)
    return " ".join(out.split())


def render(
    folder: str | os.PathLike[str],
    *,
    form: str = "html",
    language: str = "en",
    full: bool | None = None,
    date: str = "",
) -> str:
    """The report of a results folder as text.

    Args:
        folder: what `--output` named.
        form: "html" or "md".
        language: "en" or "zh".
        full: with the appendix; by default a plan has none and everything else has it.
        date: printed in the heading, ISO form; today when empty.

    Raises:
        ReportError: the folder holds no result, or an argument is unknown.
    """
    return _render(read(folder), form=form, language=language, full=full, date=date)


def _column(table: Any, name: str) -> list[str]:
    """A column as a CSV file would have it."""
    if name in table.categories:
        return list(table.labels(name))
    return ["" if value != value else repr(value) for value in table[name].tolist()]


def run_report(
    result: Any, *, form: str = "html", language: str = "en", full: bool = True, date: str = ""
) -> str:
    """The report of a `servegrid.Result` as text: what `render` makes of the folder of that run."""
    point = result.point
    data = {
        "format_version": FORMAT_VERSION,
        "model_version": _core.model_version,
        **point["summary"],
        **{key: point[key] for key in ("trust", "binds", "resident_conversations", "intervals_90")},
    }
    tables = {
        name: [dict(zip(columns, row, strict=False)) for row in zip(*(_column(table, c) for c in columns), strict=False)]
        for name, table, columns in (
            ("requests", result.requests, ("outcome", "arrival_s", "first_token_s", "finish_s")),
            ("timeline", result.timeline, ("replica", "start_s", "steps", "first_step_s", "step_growth_s", "running", "waiting", "blocks_used")),
        )
    }  # fmt: skip
    yaml = result.scenario.yaml
    folder = Folder(Path(), "run", data, tables, {"scenario.resolved.yaml": yaml}, digest_of(yaml))
    return _render(folder, form=form, language=language, full=full, date=date)


def _render(folder: Folder, *, form: str, language: str, full: bool | None, date: str) -> str:
    if form not in ("html", "md"):
        raise ReportError(f"a report is html or md, not {form!r}")
    if language not in LANGUAGES:
        raise ReportError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    texts = Texts(language)
    document: Document = DOCUMENTS[folder.kind](folder, texts)
    whole = folder.kind != "plan" if full is None else full
    template = _environment(form == "html").get_template(TEMPLATES["." + form])
    return str(
        template.render(
            document=document,
            sections=document.brief + (document.appendix if whole else []),
            brief=len(document.brief),
            t=texts,
            language=language,
            date=texts.date(date or datetime.date.today().isoformat()),
        )
    )


def write(
    folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    language: str = "en",
    full: bool | None = None,
    date: str = "",
) -> Path:
    """Writes the report to `path` (.html or .md), whole or not at all. Arguments as of `render`."""
    target = Path(path)
    if target.suffix not in TEMPLATES:
        raise ReportError(f"{target}: a report is written as .html or .md")
    text = render(folder, form=target.suffix[1:], language=language, full=full, date=date)
    return _written(text, target)


def write_costs(folder: str | os.PathLike[str], path: str | os.PathLike[str]) -> Path:
    """Writes the cost table of a comparison, a sweep or a plan as CSV, whole or not at all."""
    return _written(costs_csv(read(folder)), Path(path))


def _written(text: str, target: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=target.parent or Path(), prefix=target.name, suffix=".partial")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
