"""The page: nobody without the token, and the same answers as the command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command import servegrid

flask = pytest.importorskip("flask")

from servegrid.ui import create_app  # noqa: E402

LOCAL = "http://127.0.0.1:8000"
SMALL = {
    "token": "secret",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "users": "8",
    "isl": "500",
    "osl": "100",
}


@pytest.fixture(scope="module")
def page() -> Any:
    return create_app("secret").test_client()


def get(page: Any, path: str, base: str = LOCAL, **values: str) -> Any:
    return page.get(path, query_string={**SMALL, **values}, base_url=base)


@pytest.mark.parametrize("path", ["/", "/answer", "/scenario.yaml", "/report.html"])
def test_nobody_without_the_token(page: Any, path: str) -> None:
    assert page.get(path, base_url=LOCAL).status_code == 403
    assert get(page, path, token="secreT").status_code == 403
    assert get(page, path, base="http://evil.example").status_code == 403  # a name that resolves to 127.0.0.1


def test_the_page_needs_nothing_from_outside(page: Any) -> None:
    reply = get(page, "/")
    text = reply.get_data(as_text=True)
    assert reply.status_code == 200
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", text) == []
    assert "default-src 'none'" in reply.headers["Content-Security-Policy"]


def test_another_gpu_another_answer(page: Any) -> None:
    verdict = re.compile(r'class="verdict">(.*?)</p>')
    one = verdict.findall(get(page, "/answer").get_data(as_text=True))
    two = verdict.findall(get(page, "/answer", gpu="h200", gpu2="mi355x").get_data(as_text=True))
    assert len(one) == 1
    assert len(two) == 2
    assert len({*one, *two}) == 3
    assert get(page, "/answer").get_data(as_text=True).count("<svg") == 3


def test_the_scenario_gives_the_same_answer_with_the_command(page: Any, tmp_path: Path) -> None:
    shown = get(page, "/answer").get_data(as_text=True)
    yaml = get(page, "/scenario.yaml")
    assert "attachment" in yaml.headers["Content-Disposition"]
    (tmp_path / "s.yaml").write_bytes(yaml.data)
    out = servegrid("run", str(tmp_path / "s.yaml"), "--format", "csv")
    names, values = out.splitlines()[:2]
    tpot = float(dict(zip(names.split(","), values.split(","), strict=True))["mean_tpot_ms"])
    assert f"<td>{tpot:.3g} ms</td>" in shown


def test_people_become_a_rate_with_the_arithmetic(page: Any) -> None:
    text = get(page, "/answer", load="people", people="3600", chats="5", busiest="10").get_data(as_text=True)
    assert "= 0.5 requests/s" in text


def test_the_price_sheet_gives_a_cost(page: Any) -> None:
    text = get(page, "/answer", prices="per-gpu-2026-11").get_data(as_text=True)
    assert re.search(r"USD [\d,]+ a month; USD [\d.]+ per million output tokens", text)


def test_the_report_of_the_page(page: Any) -> None:
    text = get(page, "/report.html", language="zh").get_data(as_text=True)
    assert "结论" in text


@pytest.mark.parametrize(
    "bad",
    [
        {"users": "-5"},
        {"users": "nan"},
        {"isl": "1e308"},
        {"weights": "<script>"},
        {"load": "x"},
        {"tp": "99999999999999999999"},
    ],
)
def test_bad_fields_are_named(page: Any, bad: dict[str, str]) -> None:
    reply = get(page, "/answer", **bad)
    assert reply.status_code == 400
    assert reply.mimetype == "text/plain"
    assert next(iter(bad)) in reply.get_data(as_text=True)


def test_a_set_up_that_cannot_run_says_why(page: Any) -> None:
    text = get(page, "/answer", model="llama-3.1-405b").get_data(as_text=True)
    assert "does not fit" in text
    assert "&lt;" in get(page, "/answer", model="<script>").get_data(as_text=True)
