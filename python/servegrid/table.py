"""Tables of NumPy columns with units."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["Table", "columns_of"]

Array = NDArray[Any]


class Table(Mapping[str, Array]):
    """Columns of equal length by name, each a one-dimensional NumPy array.

    The arrays of a result lie in memory that the run's process filled; nothing is copied until you
    change one (the memory is yours alone).

    Attributes:
        units: unit by column ("s", "tokens"; "" = a plain number).
        categories: for columns of codes, what the codes 0, 1, ... stand for.
    """

    def __init__(
        self,
        columns: Mapping[str, Array],
        units: Mapping[str, str] | None = None,
        categories: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._columns = dict(columns)
        self.units: dict[str, str] = dict(units or {})
        self.categories: dict[str, tuple[str, ...]] = {
            name: tuple(words) for name, words in (categories or {}).items()
        }

    def __getitem__(self, name: str) -> Array:
        try:
            return self._columns[name]
        except KeyError:
            raise KeyError(f"no column {name!r}; there are {', '.join(self._columns)}") from None

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(name)
        return self._columns[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._columns]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns; `rows` is the number of rows."""
        return len(self._columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    def labels(self, name: str) -> list[str]:
        """The words of a column of codes, one a row."""
        words = self.categories[name]
        return [words[code] for code in self[name]]

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame over the same memory; codes become a categorical column."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name, values in self._columns.items():
            words = self.categories.get(name)
            if words is None:
                columns[name] = values
            else:
                codes = values.astype(np.int8)
                columns[name] = pd.Categorical.from_codes(codes, categories=pd.Index(list(words)))
        frame: pd.DataFrame = pd.DataFrame(columns, copy=False)
        return frame

    def to_arrow(self) -> pa.Table:
        """An Arrow table over the same memory, units in each field's metadata."""
        import pyarrow as pa

        arrays: list[pa.Array] = []
        fields: list[pa.Field] = []
        for name, values in self._columns.items():
            words = self.categories.get(name)
            array = pa.array(values)
            if words is not None:
                codes = pa.array(values.astype(np.int8))
                array = pa.DictionaryArray.from_arrays(codes, pa.array(list(words)))
            unit = self.units.get(name, "")
            metadata = {"unit": unit} if unit else None
            arrays.append(array)
            fields.append(pa.field(name, array.type, metadata=metadata))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes a Parquet file, whole or not at all."""
        import pyarrow.parquet as pq

        temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
        try:
            pq.write_table(self.to_arrow(), temporary)
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def __repr__(self) -> str:
        return f"<Table of {self.rows:,} rows: {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        shown = 8
        rows = [[_text(name, self, i) for name in self._columns] for i in range(min(shown, self.rows))]
        heads = [f"{name} [{self.units[name]}]" if self.units.get(name) else name for name in self._columns]
        more = f"{self.rows:,} rows" + (f", the first {shown} shown" if self.rows > shown else "")
        return html_table(heads, rows, caption=more)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows as a table; what a row lacks is NaN or empty."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> Array:
    """Numbers as float (or int), everything else as objects."""
    if all(isinstance(v, bool) for v in values):
        return np.array(values, dtype=bool)
    if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return np.array(values, dtype=np.int64)
    if all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values):
        return np.array([math.nan if v is None else v for v in values], dtype=float)
    return np.array(["" if v is None else v for v in values], dtype=object)


def _text(name: str, table: Table, row: int) -> str:
    if name in table.categories:
        return table.categories[name][int(table[name][row])]
    return number(table[name][row])


def number(value: Any) -> str:
    """A value for people: 4 significant digits, thousands set apart, '-' for what is undefined."""
    if value is None:
        return "-"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        x = float(value)
        if x != x:
            return "-"
        if x == int(x) and abs(x) < 1e15:
            return f"{int(x):,}"
        return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"
    return str(value)


def _is_text(text: str) -> bool:
    """Whether a cell is words: set to the left; numbers, signs and nothing go to the right."""
    return text[:1].isalpha()


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "", left: int = 1) -> str:
    """A plain table; the first `left` columns and those of words are set to the left."""
    words = [i < left or any(_is_text(row[i]) for row in rows) for i in range(len(heads))]

    def cell(tag: str, text: str, at: int) -> str:
        style = f"text-align:{'left' if words[at] else 'right'};white-space:nowrap"
        return f'<{tag} style="{style}">{html.escape(text)}</{tag}>'

    head = "".join(cell("th", text, i) for i, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(cell("td", text, i) for i, text in enumerate(row)) + "</tr>" for row in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """The same for a terminal."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    words = [i < left or any(_is_text(row[i]) for row in rows) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            text.ljust(width) if words[i] else text.rjust(width)
            for i, (text, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    return "\n".join([line(heads), "  ".join("-" * w for w in widths), *map(line, rows)])
