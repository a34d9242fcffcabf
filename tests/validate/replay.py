"""A measured run replayed request by request: replay.py SERVEGRID MEASURED_FOLDER.

300 requests of Llama 3.1 8B on one RTX PRO 6000 under vLLM 0.19 (github.com/casys-kaist/LLMServingSim), to which nothing was
fitted. The measured data are not part of the project; where the folder is absent the test is skipped (exit code 77).
"""
import json
import pathlib
import subprocess
import sys

LARGEST_ERROR_PERCENT = {"ttft": 8.0, "tpot": 8.0, "e2el": 8.0, "finish_curve": 10.0}


def main():
    command, measured = sys.argv[1], pathlib.Path(sys.argv[2]) / "serving" / "llmservingsim_requests.csv"
    if not measured.exists():
        print(f"skipped: {measured.name} is not here")
        return 77
    scenario = pathlib.Path(__file__).with_name("llmservingsim.yaml")
    run = subprocess.run([command, "validate", "--requests", str(measured), "--scenario", str(scenario), "--format",
                          "json"], capture_output=True, text=True, check=True)
    report = json.loads(run.stdout)
    failed = report["finished"] != report["requests"]
    for what, limit in LARGEST_ERROR_PERCENT.items():
        error = report[what]["error_percent"]
        good = abs(error) <= limit
        failed |= not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {error:+.1f} %, at most {limit} %")
    return 1 if failed else 0


sys.exit(main())
