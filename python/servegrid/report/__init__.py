"""Reports: one self-contained HTML file, or Markdown, from a results folder.

``servegrid report FOLDER`` on the command line; ``servegrid.report.write(folder, "report.html")`` here. A folder is what
``servegrid run``, ``compare``, ``sweep``, ``plan`` or ``tune`` wrote with ``--output``.
"""

from __future__ import annotations

from .writing import render, write, write_costs

__all__ = ["render", "write", "write_costs"]
