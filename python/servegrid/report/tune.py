"""The report of `servegrid tune`: what to change on the GPUs one has."""

from __future__ import annotations

from . import charts, common, grounds
from .common import finite
from .document import Answer, Block, Bullets, Chart, Code, Document, Paragraph, Section, Table
from .folder import Folder
from .texts import Texts


def _reproduced(folder: Folder, t: Texts) -> list[Block]:
    rows = folder.data.get("reproduced") or []
    if not rows:
        return [Paragraph(t("tune_not_observed"))]
    table = Table(
        [t("metric"), t("observed"), t("simulated"), t("inside_band")],
        [[r["metric"], t.number(finite(r["observed"])), t.number(finite(r["simulated"])),
          t("yes") if r.get("inside_band") else t("no")] for r in rows],
        numeric={1, 2},
    )  # fmt: skip
    return [table]


def tune_document(folder: Folder, t: Texts) -> Document:
    """Brief: was the run reproduced, what helps most, and the flags to change."""
    data = folder.data
    base = data.get("base", {})
    unit = data.get("unit", "")
    before, after = finite(base.get("capacity")), finite(data.get("best_capacity"))
    changes = [f"{path}={value}" for path, value in (data.get("best") or {}).items()]
    gain = f"{100 * (after / before - 1):+.0f} %" if before and after else "–"
    if changes:
        answer = t(
            "tune_answer",
            changes=t.listed(changes),
            before=t.number(before),
            after=t.number(after),
            unit=unit,
            gain=gain,
        )
    else:
        answer = t("tune_nothing", before=t.number(before), unit=unit)
    trials = sorted(
        (r for r in data.get("trials", []) if not r.get("reason")),
        key=lambda r: (r.get("round", 0), -(finite(r.get("capacity")) or 0)),
    )
    # Later rounds start from the best so far: only changes of the same round can be set against each other.
    single = [r for r in trials if r.get("round") == 1]
    bars = [
        {"name": name, "value": finite(r.get("capacity")) or 0, "text": t.number(finite(r.get("capacity")))}
        for name, r in ((str(r.get("what", "?")), r) for r in [*single[:11], base])
    ]
    bars[-1]["name"] = t("as_it_is")
    spec = charts.bars(bars, t("axis_sustained", unit=unit))
    picture: list[Block] = []
    if spec is not None:
        picture = [
            Chart(
                t("chart_tune"),
                t("sample_trials", n=len(single)),
                "; ".join(f"{b['name']}: {b['text']}" for b in bars[:5]),
                spec,
            )
        ]
    table = Table(
        [t("round"), t("change"), t("axis_sustained", unit=unit), t("cause")],
        [
            [
                str(r.get("round", "")),
                str(r.get("what", "")),
                t.number(finite(r.get("capacity"))),
                common.plain_numbers(str(r.get("cause", "")), t),
            ]
            for r in trials
        ],
        caption=t("rounds"),
        numeric={2},
    )
    diff = data.get("flag_diff") or ""
    flags = "\n".join(diff) if isinstance(diff, list) else str(diff)
    objectives = [str(o) for o in data.get("objectives", [])]
    brief = [
        Section(
            t("the_question"),
            [Paragraph(t("tune_question", objectives=t.listed(objectives) if objectives else "–"))],
        ),
        Section(t("the_answer"), [Answer(answer)]),
        Section(t("tune_reproduced"), _reproduced(folder, t)),
        Section(t("flags_to_change"), [Code(flags.rstrip())] if flags.strip() else []),
        Section(t("not_known"), [Bullets([t("unknown_quality"), t("unknown_model")])]),
    ]
    used = grounds.scenarios(folder)
    appendix = [
        Section(t("every_trial"), [*picture, table] if trials else []),
        Section(t("memory"), grounds.ledgers(used, t)),
        Section(t("accuracy"), grounds.accuracy(used, t)),
        Section(t("how_to_reproduce"), [*common.reproduction(folder, t), Paragraph(t("tune_input"))]),
        common.inputs(folder, t),
    ]
    scenario = common.scenario_facts(folder.texts.get("scenario.resolved.yaml", ""))
    return Document(
        t("tune_title"),
        common.subtitle(scenario, t),
        [s for s in brief if s.blocks],
        [s for s in appendix if s.blocks],
        common.footer(data, t),
    )
