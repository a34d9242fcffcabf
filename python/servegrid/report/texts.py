"""The one translation file, texts.json, and numbers as a language writes them."""

from __future__ import annotations

import datetime
import json
import math
from functools import cache
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
CURRENCIES = {"zh": {"USD": "美元", "EUR": "欧元", "CNY": "元", "RMB": "元"}}


@cache
def _all() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "texts.json").read_text("utf-8"))
    return texts


class Texts:
    """Texts and numbers of one language. `t("key", name=value)` fills a text in."""

    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, key: str, /, **values: Any) -> str:
        return _all()[key][self.language].format(**values)

    def known(self, group: str, word: str) -> str:
        """The translation of a word that the simulator writes; the word itself where there is none."""
        entry = _all().get(f"{group}.{word}")
        return entry[self.language] if entry else word

    def number(self, value: float | None, digits: int = 3) -> str:
        """To `digits` significant ones, thousands grouped; "–" for what is undefined."""
        if value is None or not math.isfinite(value):
            return "–"
        if value == 0:
            return "0"
        if float(value).is_integer() and abs(value) < 1e15:
            return f"{value:,.0f}"
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        return f"{value:,.{decimals}f}"

    def count(self, value: float | None) -> str:
        """Whole ones: 49.9 users are 49."""
        return "–" if value is None or not math.isfinite(value) else f"{math.floor(value + 1e-9):,}"

    def percent(self, share: float | None) -> str:
        return "–" if share is None or not math.isfinite(share) else f"{100 * share:.0f} %"

    def money(self, value: float | None, currency: str, digits: int = 4) -> str:
        if value is None or not math.isfinite(value):
            return "–"
        text = f"{value:,.0f}" if abs(value) >= 10**digits / 10 else self.number(value, digits - 1)
        name = CURRENCIES.get(self.language, {}).get(currency, currency)
        return f"{text} {name}" if self.language == "zh" else f"{currency} {text}"

    def milliseconds(self, value: float | None) -> str:
        """Milliseconds as a reader says them: "35 ms", "1.20 s"."""
        if value is None or not math.isfinite(value):
            return "–"
        return f"{value / 1e3:,.3g} s" if value >= 1000 else f"{value:.3g} ms"

    def date(self, iso: str) -> str:
        try:
            day = datetime.date.fromisoformat(iso)
        except ValueError:
            return iso
        if self.language == "zh":
            return f"{day.year}年{day.month}月{day.day}日"
        return f"{day.day} {MONTHS[day.month - 1]} {day.year}"

    def listed(self, items: list[str]) -> str:
        if self.language == "zh":
            return "、".join(items)
        return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
