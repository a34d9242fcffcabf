"""Long runs with every invariant on: a fleet over a week, closed loops over days. Memory is bounded and nothing is lost.

Short here; SERVEGRID_SOAK=1 (make soak) lives through all of it."""
import json
import os
import subprocess

WHOLE = os.environ.get("SERVEGRID_SOAK") == "1"


def measure(bench, *args):
    """(point, processor time [s], peak memory [MB])"""
    with open(bench.path("out"), "wb") as out, open(bench.path("err"), "wb") as err:
        process = subprocess.Popen([bench.binary, *args, "--check", "--format", "json"], cwd=bench.folder,
                                   env=bench.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    bench.check(process.returncode == 0, f"{args}: exit {process.returncode}: {bench.read('err')[-400:]}")
    return json.loads(bench.read("out")), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def test_a_week_of_a_fleet(bench):
    week = os.path.join(bench.source, "tests", "soak", "fleet_week.yaml")
    if not WHOLE:  # the same events in a hundredth of the time
        with open(week, encoding="utf-8") as file:
            text = file.read()
        for long, short in (("500 h", "1 h"), ("20 min", "2 min"), ("{at: 30 h, server: 0, for: 1 h}",
                            "{at: 20 min, server: 0, for: 5 min}"), ("{at: 50 h, replica: 1, slowdown: 3, for: 2 h}",
                            "{at: 30 min, replica: 1, slowdown: 3, for: 5 min}"), ("at: 100 h", "at: 50 min"),
                            ("period: 24 h", "period: 15 min"), ("at: 60 h, duration: 5 min", "at: 36 min, duration: 1 min"),
                            ("at: 130 h, duration: 5 min", "at: 78 min, duration: 1 min"), ("6048000", "60480")):
            bench.check(long in text, f"the scenario has no {long!r}")
            text = text.replace(long, short)
        week = bench.write("fleet.yaml", text)
    point, seconds, megabytes = measure(bench, "run", week)
    s = point["summary"]
    ended = sum(s.get(k, 0) for k in ("completed", "rejected", "failed", "cancelled"))
    bench.check(point["partial"] is None and ended == (6048000 if WHOLE else 60480), s)
    bench.check(s["faults"] > 2 and s["retries"] > 0 and s["tokens_lost"] > 0, s)
    bench.check(s["gpu_seconds"] < 64 * s["duration"] * 0.9, "the autoscaler gave nothing back")
    bench.check(s["completed"] > 0.99 * ended, s)
    if bench.slowness == 1:
        bench.check(megabytes < (4000 if WHOLE else 250), f"{megabytes:.0f} MB")
    print(f"  {s['duration'] / 3600:.1f} h of 64 replicas: {ended:.0f} requests, {s['faults']:.0f} faults, "
          f"{s['retries']:.0f} retries, {seconds:.1f} s, {megabytes:.0f} MB")


def test_a_closed_loop_over_days_takes_no_more_memory(bench):
    load = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1000", "--osl", "500", "--concurrency", "32",
            "--spread", "0.5", "--no-requests-table"]
    sizes = []
    for requests in ((100_000, 800_000) if WHOLE else (10_000, 40_000)):
        point, seconds, megabytes = measure(bench, *load, "--num-prompts", str(requests))
        bench.check(point["summary"]["completed"] == requests, point["summary"])
        sizes.append(megabytes)
        print(f"  {point['summary']['duration'] / 3600:.1f} h, {requests} requests: {seconds:.1f} s, {megabytes:.1f} MB")
    if bench.slowness == 1:
        bench.check(sizes[1] < sizes[0] + 4, f"memory grew with the run: {sizes} MB")
