"""Accuracy on AMD: amd.py SERVEGRID MEASURED_FOLDER [OUT.csv].

Llama 3.1 405B FP8 on 8 MI300X (latency of static batches under vLLM) and Llama 3.3 70B MXFP4 on one MI355X (ATOM by
concurrency), brought into the general form of `servegrid validate`. The measured data are not part of the project; where
the folder is absent the test is skipped (exit code 77). With OUT.csv only that file is written.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

COLUMNS = ["id", "gpu", "engine", "engine_version", "model", "weights", "kv_cache", "tp", "isl", "osl", "concurrency",
           "spread", "prompts_per_slot", "ttft_ms", "tpot_ms", "mean_e2el_ms"]
LARGEST_MEDIAN_PERCENT = 12.0


def read(path):
    with open(path, newline="") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def static_batches(folder):
    for i, row in enumerate(read(folder / "rocm_vllm.csv")):
        if "405B" not in row["model"] or row["metric"] != "e2e_batch_latency":
            continue
        version = row["engine_version"].split(" ")[0] or "0.6.5"
        yield {"id": f"mi300x-{i}", "gpu": "mi300x", "engine": "vllm", "engine_version": version,
               "model": "llama-3.1-405b", "weights": "fp8", "kv_cache": "fp8" if version == "0.7.3" else "bf16",
               "tp": 8, "isl": row["isl"], "osl": row["osl"], "concurrency": int(float(row["concurrency_or_batch"])),
               "spread": 0, "prompts_per_slot": 1, "mean_e2el_ms": 1e3 * float(row["value"])}


def closed_loops(folder):
    runs = {}
    for row in read(folder / "mi355x_atom.csv"):
        if "70B" in row["model"]:
            runs.setdefault(int(row["concurrency_or_batch"]), {})[row["metric"]] = row["value"]
    for concurrency, metrics in sorted(runs.items()):
        yield {"id": f"mi355x-{concurrency}", "gpu": "mi355x", "engine": "atom", "model": "llama-3.3-70b",
               "weights": "mxfp4", "kv_cache": "bf16", "tp": 1, "isl": 1024, "osl": 1024, "concurrency": concurrency,
               "spread": 0.2, "prompts_per_slot": 10, "ttft_ms": metrics["ttft"], "tpot_ms": metrics["tpot"]}


def write(rows, path):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS)
        out.writeheader()
        out.writerows(rows)


def report(command, rows):
    with tempfile.TemporaryDirectory() as work:
        write(rows, f"{work}/amd.csv")
        run = subprocess.run([command, "validate", "--measured", f"{work}/amd.csv", "--format", "json"],
                             capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "serving"
    if not (folder / "rocm_vllm.csv").exists():
        print("skipped: rocm_vllm.csv is not here")
        return 77
    batches, loops = list(static_batches(folder)), list(closed_loops(folder))
    if len(sys.argv) > 3:
        write(batches + loops, sys.argv[3])
        return 0
    failed = 0
    for what, errors in (("MI300X end to end", report(command, batches)["others"]["mean_e2el_ms"]),
                         ("MI355X TPOT", report(command, loops)["tpot"])):
        good = errors["median_ape"] <= LARGEST_MEDIAN_PERCENT
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: median {errors['median_ape']:.1f} %, mean {errors['mape']:.1f} %, "
              f"n {errors['n']}, at most {LARGEST_MEDIAN_PERCENT} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
