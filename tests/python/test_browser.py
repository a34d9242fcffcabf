"""The reports of six studies and the page in Chromium: what a reader sees, and what a browser asks for.

SERVEGRID_CHROMIUM names the browser; otherwise one on PATH or Playwright's own is taken.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import servegrid

from servegrid.report import write
from servegrid.report.texts import LANGUAGES

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed: no browser to test with"
)

# Every study of the report's examples: how it is made, how many charts its full report has at least, the brief's pages.
STUDIES = {
    "headline": (("compare", "llama70b_8k_conversations", "--quiet"), 8, 2),
    "plan-405b": (("plan", "article_405b_fp8"), 5, 2),
    "plan-deepseek": (("plan", "article_deepseek_v3_fp8"), 5, 2),
    "tune": (("tune", "sre_preemptions"), 1, 1),
    "pd-split": (("run", "disaggregated", "--quiet"), 6, 1),
    "faults": (("run", "faults", "--quiet"), 6, 1),
}
# Marks of a chart that lie inside its own picture; an empty one has axes only.
DRAWN = """() => [...document.querySelectorAll('figure')].map(figure => {
  const svg = figure.querySelector('svg'), box = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll('.mark-line path, .mark-rect path, .mark-symbol path, .mark-area path')]
    .filter(m => { const b = m.getBoundingClientRect(); return b.width + b.height > 1 && b.right <= box.right + 2; });
  const lost = [...svg.querySelectorAll('path, text')].some(m => /NaN|undefined|Infinity/.test(m.getAttribute('d') + m.textContent));
  return {title: figure.querySelector('figcaption').textContent, width: box.width, height: box.height, marks: marks.length, lost};
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = os.environ.get("SERVEGRID_CHROMIUM") or next(
        (
            found
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (found := shutil.which(name))
        ),
        None,
    )
    with sync_api.sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        if path is None and not own.exists():
            pytest.skip("no Chromium: `apt-get install chromium` or `playwright install chromium`")
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module", params=STUDIES)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, int]:
    command, charts, pages = STUDIES[request.param]
    out = tmp_path_factory.mktemp("studies") / request.param
    servegrid(*command, "--output", str(out))
    return out, charts, pages


def watched(browser: Any, **options: Any) -> tuple[Any, list[str]]:
    """A page, and what went wrong on it: console errors and requests that leave the machine."""
    page = browser.new_page(viewport={"width": 1000, "height": 900}, **options)
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: wrong.append(str(e)))
    page.on("request", lambda r: None if local(r.url) else wrong.append(r.url))
    return page, wrong


def local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_report(browser: Any, study: tuple[Path, int, int], language: str, tmp_path: Path) -> None:
    folder, least, pages = study
    full = write(folder, tmp_path / "full.html", language=language, full=True)
    page, wrong = watched(browser, color_scheme="dark" if language == "zh" else "light")
    page.goto(full.as_uri())
    charts = page.evaluate(DRAWN)
    assert len(charts) >= least
    for chart in charts:
        assert chart["marks"] > 0, chart
        assert chart["width"] > 300, chart
        assert not chart["lost"], chart
    # Nothing is wider than the page, also on a telephone: wide tables scroll inside their own box.
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    brief = write(folder, tmp_path / "brief.html", language=language, full=False)
    page.goto(brief.as_uri())
    printed = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == pages
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45]\.?\d* 84[12]\.?\d*\s*\]", printed), "not A4"
    assert wrong == []
    page.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A running page's address with its token."""
    pytest.importorskip("flask")
    from werkzeug.serving import make_server

    from servegrid.ui import create_app

    server = make_server("127.0.0.1", 0, create_app("secret"), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/?token=secret"
    server.shutdown()
    thread.join()
    server.server_close()


def settled(page: Any) -> None:
    """Waits until the newest answer is shown; the form waits a quarter of a second for more typing."""
    page.wait_for_timeout(400)
    page.wait_for_selector('#answer[aria-busy="false"] .verdict', timeout=60_000)


def test_page(browser: Any, address: str, tmp_path: Path) -> None:
    page, wrong = watched(browser)
    page.goto(address + "&model=llama-3.1-8b&gpu=h100-sxm&users=8&isl=500&osl=100")
    settled(page)
    before = page.locator(".verdict").inner_text()
    page.select_option('select[name="gpu"]', "mi355x")
    settled(page)
    after = page.locator(".verdict").inner_text()
    conversations = [
        float(found.replace(",", ""))
        for found in re.findall(r"([\d,.]+) conversations", before + "\n" + after)
    ]
    assert len(conversations) == 2
    assert conversations[1] > 2 * conversations[0]  # 288 GB in place of 80
    assert page.locator(".chart svg").count() == 3

    # The link carries the whole state: it opens on the same answer.
    again, wrong_again = watched(browser)
    again.goto(page.url)
    settled(again)
    assert again.locator(".verdict").inner_text() == after
    assert again.locator("#answer").inner_text() == page.locator("#answer").inner_text()
    again.close()

    with page.expect_download() as download:
        page.click("#scenario-A")
    download.value.save_as(tmp_path / "scenario.yaml")
    names, values = servegrid("run", str(tmp_path / "scenario.yaml"), "--format", "csv").splitlines()[:2]
    summary = dict(zip(names.split(","), values.split(","), strict=True))
    shown = dict(row.split("\t")[:2] for row in page.locator("#side-A tbody tr").all_inner_texts())
    assert shown["mean time per output token"] == f"{float(summary['mean_tpot_ms']):.3g} ms"
    assert shown["mean time to first token"] == f"{float(summary['mean_ttft_ms']):.3g} ms"

    # A second set-up beside it, and the report of the first.
    page.select_option('select[name="gpu2"]', "h200")
    settled(page)
    page.wait_for_selector("#side-B .verdict")
    with page.expect_download() as download:
        page.click("#report-A")
    download.value.save_as(tmp_path / "report.html")
    assert "mi355x" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert wrong + wrong_again == []
    page.close()
