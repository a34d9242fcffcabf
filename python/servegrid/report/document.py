"""What a report is made of, whatever it is written as."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Paragraph:
    text: str


@dataclass
class Answer:
    """The sentence that matters."""

    text: str


@dataclass
class Bullets:
    items: list[str]


@dataclass
class Code:
    text: str


@dataclass
class Table:
    """`numeric` columns are right-aligned."""

    headers: list[str]
    rows: list[list[str]]
    caption: str = ""
    numeric: set[int] = field(default_factory=set)


@dataclass
class Chart:
    """`title` is the question that the chart answers, `sample` what it was drawn from, `alt` its reading in words."""

    title: str
    sample: str
    alt: str
    spec: Any  # an Altair chart


Block = Paragraph | Answer | Bullets | Code | Table | Chart


@dataclass
class Section:
    title: str
    blocks: list[Block]


@dataclass
class Document:
    """`brief` sections are printed first, on two pages; the appendix follows in a full report."""

    title: str
    subtitle: str
    brief: list[Section]
    appendix: list[Section]
    footer: str = ""
