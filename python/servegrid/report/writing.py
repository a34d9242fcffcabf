"""Documents as HTML and Markdown, whole files or none."""

from __future__ import annotations

import datetime
import os
import tempfile
from pathlib import Path
from typing import Any

from . import charts
from .document import Document
from .folder import Folder, ReportError, read
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
    if form not in ("html", "md"):
        raise ReportError(f"a report is html or md, not {form!r}")
    if language not in LANGUAGES:
        raise ReportError(f"language is one of {', '.join(LANGUAGES)}, not {language!r}")
    read_folder: Folder = read(folder)
    texts = Texts(language)
    document: Document = DOCUMENTS[read_folder.kind](read_folder, texts)
    whole = read_folder.kind != "plan" if full is None else full
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
