"""The `servegrid-report` command, which `servegrid report` runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .folder import ReportError
from .texts import LANGUAGES
from .writing import render, write, write_costs


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 the report could not be written, 2 bad input."""
    parser = argparse.ArgumentParser(
        prog="servegrid report",
        description="One self-contained HTML file, or Markdown, from a results folder that run, compare, sweep, plan or "
        "tune wrote with --output.",
        epilog="Exit codes: 0 done, 1 the report could not be written, 2 bad input",
    )
    parser.add_argument("folder", help="results folder")
    parser.add_argument("--output", metavar="FILE", help=".html or .md (default: FOLDER.report.html)")
    parser.add_argument("--language", choices=LANGUAGES, default="en", help="en (default) or zh")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--brief", action="store_true", help="two printed pages (default for a plan)")
    length.add_argument("--full", action="store_true", help="with the appendix (default for everything else)")
    parser.add_argument(
        "--date", default="", metavar="YYYY-MM-DD", help="date in the heading (default: today)"
    )
    parser.add_argument(
        "--stdout", choices=("html", "md"), help="print the report in this form, write no file"
    )
    parser.add_argument("--costs", metavar="FILE.csv", help="the cost table too, as CSV")
    arguments = parser.parse_args(argv)
    full = True if arguments.full else False if arguments.brief else None
    try:
        if arguments.costs:
            print(write_costs(arguments.folder, arguments.costs), file=sys.stderr)
        if arguments.stdout:
            sys.stdout.write(
                render(
                    arguments.folder,
                    form=arguments.stdout,
                    language=arguments.language,
                    full=full,
                    date=arguments.date,
                )
            )
            return 0
        target = arguments.output or arguments.folder.rstrip("/") + ".report.html"
        path = write(arguments.folder, target, language=arguments.language, full=full, date=arguments.date)
    except ReportError as e:
        print(f"servegrid report: {e}", file=sys.stderr)
        return 2
    except OSError as e:
        print(f"servegrid report: {e}", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
