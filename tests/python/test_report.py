"""Reports: everything drawn, nothing from outside, nothing from the input believed."""

from __future__ import annotations

import csv
import html
import json
import re
import runpy
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from command import path as command_path
from command import servegrid

import servegrid as sg
from servegrid.report import render, write, write_costs
from servegrid.report.command import main
from servegrid.report.folder import ReportError, read
from servegrid.report.texts import LANGUAGES, Texts
from servegrid.report.writing import run_report

ROOT = Path(__file__).resolve().parents[2]
TEXTS = json.loads((ROOT / "python/servegrid/report/texts.json").read_text(encoding="utf-8"))
SCENARIO = """\
description: How many <b>users</b> & "quotes" does one hold?
model: llama-3.1-8b
weights: bf16
replica: {gpu: h100-sxm, tp: 1}
engine: {profile: vllm-0.24}
workload:
  closed: {concurrent: 8, prompt: {uniform: [400 tokens, 600 tokens]}, output: {uniform: [80 tokens, 120 tokens]}}
  requests: 120
slo: {tpot: 20 ms}
prices: [per-gpu-2026-11]
sweep:
  replica.gpu: [h100-sxm, mi355x]
  workload.closed.concurrent: [1, 8, 32, 64]
"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("report")
    (base / "study.yaml").write_text(SCENARIO, encoding="utf-8")
    servegrid("compare", str(base / "study.yaml"), "--output", str(base / "out"), "--quiet")
    return base / "out"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "out"
    servegrid("run", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "500", "--osl", "100", "--concurrency", "8",
              "--output", str(out))  # fmt: skip
    return out


def outside(text: str) -> list[str]:
    """Addresses that a browser would ask for."""
    return re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!data:|#)([a-z]+:[^"')\s]+|//[^"')\s]+)""", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_comparison(compared: Path, language: str) -> None:
    text = render(compared, language=language, date="2026-12-01")
    t = Texts(language)
    for key in (
        "the_question",
        "the_answer",
        "the_options",
        "the_risk",
        "what_would_change",
        "latency_over_load",
        "costs",
    ):
        assert f"<h2>{t(key)}</h2>" in text
    assert text.count("<svg") >= 6
    assert outside(text) == []
    for key in ("memory", "accuracy"):
        assert f"<h2>{t(key)}</h2>" in text
    assert t("accuracy_text") in text  # H100 with vLLM was measured
    assert t("accuracy_none", gpu="AMD Instinct MI355X", engine="vllm") in text
    assert "<script" not in text
    assert "&lt;b&gt;users&lt;/b&gt;" in text  # the description is shown, not obeyed
    assert "<b>users" not in text
    assert ("1 December 2026" if language == "en" else "2026年12月1日") in text


def test_the_brief_has_no_appendix(compared: Path) -> None:
    brief, full = render(compared, full=False), render(compared, full=True)
    assert len(brief) < len(full)
    assert "Every point" in full
    assert "Every point" not in brief


@pytest.mark.parametrize("language", LANGUAGES)
def test_run(ran: Path, language: str) -> None:
    text = render(ran, language=language)
    t = Texts(language)
    for key in ("chart_queue", "chart_kv_time", "chart_cdf_ttft", "chart_cdf_e2el", "chart_bounds"):
        assert t(key) in text
    assert outside(text) == []


def test_a_result_and_its_folder_read_the_same(tmp_path: Path) -> None:
    scenario = sg.Scenario(model="llama-3.1-8b", gpu="h100", isl=500, osl=100, concurrency=8)
    scenario.save(tmp_path / "s.yaml")
    servegrid("run", str(tmp_path / "s.yaml"), "--output", str(tmp_path / "out"))
    answer = re.compile(r'<p class="answer">(.*?)</p>')
    mine = answer.findall(run_report(sg.simulate(scenario)))
    assert mine == answer.findall(render(tmp_path / "out"))
    assert len(mine) == 1


def test_markdown_keeps_texts_apart(compared: Path) -> None:
    text = render(compared, form="md")
    assert "\\<b\\>users" in text
    widths = {
        line.count("|") - line.count("\\|")
        for line in text.splitlines()
        if line.startswith(("| b", "| h100"))
    }
    assert len(widths) >= 1
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") - row.count("\\|") for row in table.splitlines()}) == 1


def test_same_folder_same_bytes(compared: Path) -> None:
    assert render(compared, date="2026-12-01") == render(compared, date="2026-12-01")


def test_hostile_names_stay_text(compared: Path, tmp_path: Path) -> None:
    copy = tmp_path / "out"
    shutil.copytree(compared, copy)
    data = json.loads((copy / "points.json").read_text(encoding="utf-8"))
    evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[31m'
    for point in data["points"]:
        point["set_up"] = point["binds"] = point["gpu"] = evil
    for s in data["set_ups"]:
        s["set_up"] = evil
    (copy / "points.json").write_text(json.dumps(data), encoding="utf-8")
    text = render(copy)
    assert "<script" not in text
    assert "<img" not in text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("points.json", "{", "not JSON"),
        ("points.json", "[" * 100000, "not JSON"),
        ("points.json", "[]", "expected an object"),
        ("points.json", '{"format_version": 99}', "format 99"),
        ("points.json", "\udcff", "not UTF-8"),
        ("notes.txt", "", "holds no servegrid result"),
    ],
)
def test_no_result(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ReportError, match=re.escape(said)):
        read(tmp_path)


def test_too_few_points_are_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("[1, 8, 32, 64]", "[8]"), encoding="utf-8")
    servegrid("compare", str(tmp_path / "s.yaml"), "--output", str(tmp_path / "out"), "--quiet")
    text = render(tmp_path / "out")
    assert Texts("en")("chart_tpot") not in text
    assert Texts("en")("all_points") in text


def test_written_whole_or_not_at_all(compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    target.write_text("before", encoding="utf-8")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(compared, target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


def test_command(compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(compared), "--output", str(tmp_path / "r.md"), "--language", "zh"]) == 0
    assert "结论" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert main([str(tmp_path / "nothing")]) == 2
    assert main([str(compared), "--output", str(tmp_path / "r.pdf")]) == 2
    assert "holds no servegrid result" in capsys.readouterr().err


def test_the_reproduction_gives_the_same_points(compared: Path, tmp_path: Path) -> None:
    said = html.unescape(re.search(r"<code>(csplit.*?)</code>", render(compared), re.DOTALL)[1])  # type: ignore[index]
    command = shutil.which("servegrid", path=str(Path(command_path()).parent))
    assert command
    said = said.replace("servegrid run", f"'{command}' run").replace(str(compared), str(compared.resolve()))
    subprocess.run(["sh", "-e", "-c", said], cwd=tmp_path, check=True, capture_output=True)
    points = json.loads((compared / "points.json").read_text(encoding="utf-8"))["points"]
    again = sorted((tmp_path / "again").iterdir())
    assert len(again) == len(points)
    for point, folder in zip(points, again, strict=True):
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        assert summary["mean_tpot_ms"] == point["summary"]["mean_tpot_ms"]


def test_costs_as_csv(compared: Path, ran: Path, tmp_path: Path) -> None:
    assert (
        main([str(compared), "--output", str(tmp_path / "r.html"), "--costs", str(tmp_path / "c.csv")]) == 0
    )
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ups = json.loads((compared / "points.json").read_text(encoding="utf-8"))["set_ups"]
    assert [r["set_up"] for r in rows] == [s["set_up"] for s in ups for _ in s["costs"]]
    assert [float(r["a_year"]) for r in rows] == [12 * c["per_month"] for s in ups for c in s["costs"]]
    with pytest.raises(ReportError, match="has no costs"):
        write_costs(ran, tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()


def test_every_text_is_in_both_languages_with_the_same_places() -> None:
    fields = string.Formatter()
    for key, entry in TEXTS.items():
        assert set(entry) == set(LANGUAGES), key
        places = [{name for _, name, _, _ in fields.parse(text) if name} for text in entry.values()]
        assert places[0] == places[1], key


def test_every_text_is_used() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "python/servegrid/report").rglob("*")
        if path.suffix in (".py", ".j2")
    )
    computed = (
        "event_",
        "part_",
        "binds.",
        "bound_",
        "trust.",
        "label.",
        "goal.",
        "stage.",
        "axis_",
        "chart_",
        "per_million_",
    )
    unused = [k for k in TEXTS if not k.startswith(computed) and f'"{k}"' not in sources]
    assert unused == []


def test_the_accuracy_is_that_of_the_docs() -> None:
    maker = runpy.run_path(str(ROOT / "tools/report-accuracy"))
    assert len(maker["table"]()["rows"]) > 20
    written = (ROOT / "python/servegrid/report/accuracy.json").read_text(encoding="utf-8")
    assert written == maker["text"](), "run tools/report-accuracy"


def test_the_sensitivity_of_a_plan_is_relative_to_it(tmp_path: Path) -> None:
    servegrid("plan", "article_405b_fp8", "--output", str(tmp_path / "plan"))
    plan = json.loads((tmp_path / "plan/plan.json").read_text(encoding="utf-8"))
    step = next(s for s in plan["sensitivity"] if s["what"] == "efficiency (step time)")
    text = render(tmp_path / "plan", full=True)
    for change, share in (
        (step["low_change"], step["capacity_low"]),
        (step["high_change"], step["capacity_high"]),
    ):
        assert f"{change}: {100 * (share - 1):+.0f} %" in text
    assert step["capacity_low"] < 1 < step["capacity_high"]
    # Both objectives are drawn, each with its line.
    for metric in ("p95 TTFT", "p95 TPOT"):
        assert Texts("en")("chart_curve", metric=metric) in text
    assert text.count(">objective</text>") == 2


def test_numbers_as_people_write_them() -> None:
    t = Texts("en")
    assert t.number(1234.56) == "1,235"
    assert t.number(0.01234) == "0.0123"
    assert t.number(None) == "–"
    assert t.milliseconds(1234.0) == "1.23 s"
    assert t.milliseconds(35.21) == "35.2 ms"
    assert t.money(16908, "USD") == "USD 16,908"
    assert t.money(0.8514, "USD") == "USD 0.851"
    assert Texts("zh").money(16908, "USD") == "16,908 美元"
    assert t.count(49.9) == "49"
