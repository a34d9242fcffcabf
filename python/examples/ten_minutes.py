"""Does it fit, how fast is it, which is better, what happens when more arrive?"""

from __future__ import annotations

import servegrid as sg


def main() -> None:
    scenario = sg.Scenario(
        model="llama-3.1-70b", gpu="b200", isl=2000, osl=500, concurrency=16, num_prompts=64
    )
    print(sg.size(scenario))

    result = sg.simulate(scenario)
    low, high = result.summary.intervals["mean_tpot_ms"]
    print(f"TPOT {result.summary['mean_tpot_ms']:.1f} ms (measured values: {low:.1f} to {high:.1f})")
    slowest = result.requests["e2el_s"].argmax()
    print(f"the slowest request is {result.requests['id'][slowest]}")

    comparison = sg.compare({"B200": scenario, "MI355X": scenario.with_(gpu="mi355x")}, seeds=3)
    print(comparison)
    if comparison.difference("MI355X", "mean_tpot_ms").significant:
        print("the difference in TPOT is real")

    runs = sg.sweep({"concurrency": [1, 8, 32]}, scenario)
    for row in runs:
        print(row["concurrency"], row["mean_tpot_ms"], row["binds"])


if __name__ == "__main__":
    main()
