"""Limits: a run that takes too much stops with what it has, says so everywhere, and is the same every time."""
import json

LLAMA = ["--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "500", "--osl", "100"]
LOAD = [*LLAMA, "--concurrency", "16", "--num-prompts", "2000"]


def test_a_partial_result_says_so_everywhere(bench):
    point = bench.json(0, "run", *LOAD, "--max-events", "300", "--output", "partial")
    words = "stopped by --max-events after 300 events"
    bench.check(point["partial"] == words, point.get("partial"))
    done = point["summary"]["completed"]
    bench.check(0 < done < 2000 and point["summary"]["in_flight"] > 0, point["summary"])
    summary = json.loads(bench.read("partial", "summary.json"))
    bench.check(summary["partial"] == words, summary.get("partial"))
    rows = bench.read("partial", "requests.csv").decode().splitlines()
    bench.check(len(rows) - 1 == done + point["summary"]["in_flight"], len(rows))
    out, _ = bench.exits(0, "run", *LOAD, "--max-events", "300")
    bench.check("PARTIAL" in out and words in out, out[:300])
    out, _ = bench.exits(0, "run", *LOAD, "--max-events", "300", "--format", "csv")
    bench.check("partial" in out.splitlines()[0] and words in out, out[:300])
    whole = bench.json(0, "run", *LOAD)
    bench.check(whole["partial"] is None and whole["summary"]["completed"] == 2000, whole.get("partial"))
    bench.check("PARTIAL" not in bench.exits(0, "run", *LOAD)[0], "a whole run is marked partial")


def test_events_decide_alike_every_time(bench):
    for name, jobs in (("once", "1"), ("again", "2")):
        bench.exits(0, "compare", *LLAMA, "--concurrency", "4,16,64", "--num-prompts", "2000", "--max-events", "400",
                    "--jobs", jobs, "--output", name, "--quiet")
    bench.check(bench.read("once", "points.json") == bench.read("again", "points.json"), "differs between runs")
    points = json.loads(bench.read("once", "points.json"))["points"]
    bench.check(all(p["partial"] for p in points), [p["partial"] for p in points])
    out, _ = bench.exits(0, "compare", *LLAMA, "--concurrency", "4,16", "--num-prompts", "2000", "--max-events", "400")
    bench.check(out.count("PARTIAL") >= 2, out)


def test_a_scenario_that_would_explode_is_refused_or_stopped(bench):
    billion = [*LLAMA, "--concurrency", "16", "--num-prompts", "1000000000"]
    flood = [*LLAMA, "--request-rate", "10000000", "--num-prompts", "1000000000"]
    _, err = bench.exits(2, "run", *LLAMA, "--request-rate", "1000000000")
    bench.check("must be between" in err, err)
    for load in (billion, flood):
        start = bench.processor_time()
        _, err = bench.exits(2, "run", *load)
        bench.check("too large to simulate" in err and "--max-memory" in err, err)
        bench.check(bench.processor_time() - start < 2 * bench.slowness, "refused late")
        point = bench.json(0, "run", *load, "--max-events", "20000")
        bench.check(point["partial"].startswith("stopped by --max-events"), point["partial"])
    point = bench.json(0, "run", *flood, "--max-time", "500 ms")
    bench.check(point["partial"] == "stopped by --max-time after 0.5 s", point["partial"])
    if bench.slowness == 1:  # a sanitiser's own memory is in it
        point = bench.json(0, "run", *flood, "--max-memory", "400 MB")
        bench.check(point["partial"] == "stopped by --max-memory at 400 MB", point["partial"])


def test_limits_are_amounts(bench):
    for option, value in (("--max-events", "0"), ("--max-events", "many"), ("--max-time", "5"), ("--max-time", "-1 s"),
                          ("--max-memory", "2"), ("--max-memory", "0 GB"), ("--max-memory", "nan GB")):
        _, err = bench.exits(2, "run", *LOAD, option, value)
        bench.check(option in err, err)


def test_watching_changes_nothing(bench):
    bench.environment.pop("SERVEGRID_CHECK")
    bench.exits(0, "run", *LOAD, "--output", "plain")
    bench.exits(0, "run", *LOAD, "--check", "--output", "checked")
    for name in ("summary.json", "requests.csv", "timeline.csv"):
        bench.check(bench.read("plain", name) == bench.read("checked", name), f"{name} differs with --check")
    bench.environment["SERVEGRID_CHECK"] = "1"
