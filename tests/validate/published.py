"""Single published points stay inside their 90 % interval: published.py SERVEGRID POINTS.csv.

Runs everywhere; the large measured sample (thresholds.py) is not part of the project.
"""
import csv
import io
import json
import statistics
import subprocess
import sys

MEDIAN_TPOT_PERCENT = 10.0
MEDIAN_TTFT_PERCENT = 30.0
SMALLEST_SHARE_INSIDE = 0.8


def validate(command, points, form):
    run = subprocess.run([command, "validate", "--measured", points, "--format", form],
                         capture_output=True, text=True, check=True)
    return run.stdout


def main():
    command, points = sys.argv[1], sys.argv[2]
    report = json.loads(validate(command, points, "json"))
    rows = list(csv.DictReader(io.StringIO(validate(command, points, "csv"))))
    for metric, limit in (("tpot", MEDIAN_TPOT_PERCENT), ("ttft", MEDIAN_TTFT_PERCENT)):
        errors = []
        for row in rows:
            error = 100 * (float(row[f"predicted_{metric}_ms"]) / float(row[f"measured_{metric}_ms"]) - 1)
            errors.append(abs(error))
            print(f"{metric} {error:+6.1f} %  {row['gpu']} {row['engine']} {row['model']}")
        assert statistics.median(errors) <= limit, f"{metric}: median {statistics.median(errors):.1f} %"
    assert report["predicted"] == report["rows"], report["skipped"]
    assert report["tpot"]["within_band"] >= SMALLEST_SHARE_INSIDE, report["tpot"]


main()
