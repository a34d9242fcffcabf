"""Accuracy against measured runs must not regress: thresholds.py SERVEGRID MEASURED_FOLDER.

The measured data are not part of the project; where the folder is absent the test is skipped (exit code 77).
"""
import json
import pathlib
import subprocess
import sys

# (what, path in the report, limit): a little above what docs/accuracy.md states.
AT_MOST = [
    ("TPOT median", ("tpot", "median_ape"), 4.3),
    ("TPOT mean", ("tpot", "mape"), 6.1),
    ("TTFT median, not queueing", ("not_queueing", "ttft", "median_ape"), 12.7),
    ("TTFT mean, not queueing", ("not_queueing", "ttft", "mape"), 17.2),
    ("dense TPOT median", ("dense", "tpot", "median_ape"), 4.0),
    ("dense TPOT mean", ("dense", "tpot", "mape"), 5.0),
    ("MoE TPOT mean", ("moe", "tpot", "mape"), 6.9),
    ("MoE TPOT median", ("moe", "tpot", "median_ape"), 4.6),
    ("median regret", ("decisions", "median_regret_percent"), 2.0),
]
AT_LEAST = [
    ("pairs ordered rightly", ("decisions", "overall", "ordered_rightly"), 0.98),
    ("TPOT inside the 90 % interval", ("tpot", "within_band"), 0.85),
    ("rows predicted", ("predicted",), 1340),
]


def main():
    command, measured = sys.argv[1], pathlib.Path(sys.argv[2]) / "serving" / "silicon_dev.csv"
    if not measured.exists():
        print(f"skipped: {measured.name} is not here")
        return 77
    run = subprocess.run([command, "validate", "--measured", str(measured), "--format", "json"],
                         capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    failed = 0
    for checks, sense in ((AT_MOST, "at most"), (AT_LEAST, "at least")):
        for what, path, limit in checks:
            value = report
            for key in path:
                value = value[key]
            good = value <= limit if sense == "at most" else value >= limit
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {what}: {value:.4g}, {sense} {limit}")
    return 1 if failed else 0


sys.exit(main())
