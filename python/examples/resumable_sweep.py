"""A sweep that goes on where it was: run it again after Ctrl-C.

python resumable_sweep.py STORE.sqlite
"""

from __future__ import annotations

import sys

import servegrid as sg


def main(store: str) -> None:
    scenario = sg.Scenario(model="llama-3.1-8b", gpu="h100", isl=1000, osl=200, concurrency=1, num_prompts=64)
    axes = {"gpu": ["h100", "h200", "b200"], "concurrency": [1, 4, 16, 64]}
    runs = sg.sweep(axes, scenario, progress=True, resume=store)
    print(runs)
    for row in runs.failures:
        print(row["label"], row["error"])


if __name__ == "__main__":
    main(sys.argv[1])
