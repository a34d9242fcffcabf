"""Charts as inline SVG: no script, no network, and colours that follow light and dark.

Every function gives None where there are fewer points than its picture needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

# After Okabe and Ito (2008): told apart with any colour vision; the blue and yellow changed to be readable on white
# and on near-black.
PALETTE = ["#2b83c6", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#8c6bb1"]
BOUNDS = ["memory", "compute", "fabric", "latency", "host"]
WIDTH, HEIGHT = 600, 240
MOST_SERIES = 7

Row = dict[str, Any]


def _altair() -> Any:
    try:
        import altair
        import vl_convert  # noqa: F401
    except ModuleNotFoundError as e:
        from .folder import ReportError

        raise ReportError("reports need Jinja2 and Altair: pip install 'servegrid[report]'") from e
    return altair


def svg(chart: Any, prefix: str) -> str:
    """An Altair chart as inline SVG, its identifiers made unique in the page by `prefix`."""
    import io

    out = io.StringIO()
    styled = (
        chart.configure(background="transparent", font="sans-serif")
        .configure_view(stroke=None)
        .configure_axis(gridColor="currentColor", gridOpacity=0.12, domainColor="currentColor",
                        tickColor="currentColor", labelColor="currentColor", titleColor="currentColor",
                        titleFontWeight="normal", domainOpacity=0.5, tickOpacity=0.5)
        .configure_legend(labelColor="currentColor", titleColor="currentColor", titleFontWeight="normal")
        .configure_header(labelColor="currentColor", titleColor="currentColor")
    )  # fmt: skip
    styled.save(out, format="svg")
    text = out.getvalue()
    text = text[text.index("<svg") :]
    # Ids of clip paths and gradients would clash between the charts of a page.
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    # The page sets the width; the drawing scales.
    match = re.match(r'<svg([^>]*?) width="([\d.]+)" height="([\d.]+)"', text)
    if match:
        text = text.replace(match.group(0), f'<svg{match.group(1)} style="max-width:{match.group(2)}px"', 1)
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)


def _data(rows: Iterable[Row]) -> Any:
    return _altair().Data(values=list(rows))


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(r["name"]) for r in rows))


def _colour(names: Sequence[str], legend: bool = True) -> Any:
    alt = _altair()
    kwargs: dict[str, Any] = {} if legend else {"legend": None}
    if legend:
        kwargs["legend"] = alt.Legend(title=None, orient="bottom", columns=2, labelLimit=280, symbolOpacity=1)
    return alt.Color("name:N", scale=alt.Scale(domain=list(names), range=PALETTE[: len(names)]), **kwargs)


def lines(
    rows: Sequence[Row],
    x: str,
    y: str,
    *,
    log: bool = False,
    limit: float | None = None,
    limit_text: str = "",
    step: bool = False,
    points: bool = True,
    least: int = 3,
) -> Any | None:
    """Lines y over x, one a name, with bands low..high where the rows have them and a limit as a dashed rule.

    Rows: name, x, y and perhaps low, high. None with fewer than `least` points on every line.
    """
    alt = _altair()
    names = _names(rows)[:MOST_SERIES]
    rows = [r for r in rows if r["name"] in names and r["y"] is not None and (not log or r["y"] > 0)]
    if not names or max((sum(r["name"] == n for r in rows) for n in names), default=0) < least:
        return None
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True)
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("x:Q", title=x, scale=alt.Scale(nice=False)), color=_colour(names, len(names) > 1)
    )
    layers = []
    banded = [r for r in rows if r.get("low") is not None and (not log or r["low"] > 0)]
    if banded:
        layers.append(
            alt.Chart(_data(banded))
            .mark_area(opacity=0.15)
            .encode(
                x="x:Q",
                y=alt.Y("low:Q", title=y, scale=scale),
                y2="high:Q",
                color=_colour(names, len(names) > 1),
            )
        )
    layers.append(
        base.mark_line(
            strokeWidth=1.8,
            interpolate="step-after" if step else "linear",
            point={"size": 30} if points else False,
        ).encode(y=alt.Y("y:Q", title=y, scale=scale))
    )
    if limit is not None:
        rule = alt.Chart(_data([{"y": limit, "text": limit_text}]))
        layers.append(rule.mark_rule(strokeDash=[5, 4], color="currentColor", opacity=0.7).encode(y="y:Q"))
        layers.append(
            rule.mark_text(align="left", dx=4, dy=-6, color="currentColor", x=0).encode(
                y="y:Q", text="text:N"
            )
        )
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def trade_off(rows: Sequence[Row], x: str, y: str, least: int = 3) -> Any | None:
    """A path through (x, y), one a name, numbers at the points. Rows: name, x, y, order, text."""
    alt = _altair()
    names = _names(rows)[:MOST_SERIES]
    rows = [r for r in rows if r["name"] in names]
    if not names or max((sum(r["name"] == n for r in rows) for n in names), default=0) < least:
        return None
    base = alt.Chart(_data(rows)).encode(
        x=alt.X("x:Q", title=x),
        y=alt.Y("y:Q", title=y),
        order="order:Q",
        color=_colour(names, len(names) > 1),
    )
    labels = base.mark_text(align="left", dx=6, dy=-6, fontSize=10).encode(text="text:N")
    return (base.mark_line(strokeWidth=1.8, point={"size": 30}) + labels).properties(
        width=WIDTH, height=HEIGHT
    )


def stacked(rows: Sequence[Row], x: str, titles: dict[str, str]) -> Any | None:
    """Horizontal bars split into parts. Rows: name, part, value (shares in percent)."""
    alt = _altair()
    if not rows:
        return None
    parts = [b for b in BOUNDS if any(r["part"] == b for r in rows)]
    rows = [{**r, "part": titles[r["part"]], "at": parts.index(r["part"])} for r in rows]
    return (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
            x=alt.X("value:Q", title=x, scale=alt.Scale(domain=[0, 100])),
            order="at:Q",
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=[titles[p] for p in parts], range=PALETTE[: len(parts)]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
        )
        .properties(width=WIDTH - 120, height=max(40, 26 * len(_names(rows))))
    )


def bars(rows: Sequence[Row], x: str, least: int = 2) -> Any | None:
    """Horizontal bars, the numbers written beside them. Rows: name, value, text and perhaps low, high."""
    alt = _altair()
    if len(rows) < least:
        return None
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=300)), x=alt.X("value:Q", title=x)
    )
    layers = [base.mark_bar(color=PALETTE[0], height=14)]
    if all(r.get("low") is not None for r in rows):
        layers.append(base.mark_rule(color="currentColor").encode(x="low:Q", x2="high:Q"))
    label = base.mark_text(align="left", dx=6, color="currentColor", fontSize=10)
    layers.append(label.encode(x=f"{'high' if len(layers) > 1 else 'value'}:Q", text="text:N"))
    return alt.layer(*layers).properties(width=WIDTH - 180, height=max(40, 26 * len(rows)))


def tornado(rows: Sequence[Row], x: str, least: int = 2) -> Any | None:
    """Bars from low to high around 0. Rows: name, low, high (percent), in the order to draw."""
    alt = _altair()
    if len(rows) < least:
        return None
    names = [r["name"] for r in rows]
    ends = [{"name": r["name"], "side": side, "value": r[side]} for r in rows for side in ("low", "high")]
    chart = (
        alt.Chart(_data(ends))
        .mark_bar(height=14)
        .encode(
            y=alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=300)),
            x=alt.X("value:Q", title=x, stack=None),  # both ends start at 0, also on one side of it
            color=alt.Color(
                "side:N", scale=alt.Scale(domain=["low", "high"], range=[PALETTE[1], PALETTE[0]]), legend=None
            ),
        )
    )
    return chart.properties(width=WIDTH - 180, height=max(40, 24 * len(rows)))
