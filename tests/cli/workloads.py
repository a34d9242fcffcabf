"""Every example of docs/workloads.md runs, describes itself, and means what the page says."""

import csv
import io
import json
import os

EXAMPLES = ("load_closed_ramp_up", "load_bursty", "load_on_off", "load_daily", "load_ramp", "load_batch", "load_mix",
            "load_trace_csv", "load_host_cache", "load_impatient")

FLAGS = ["--model", "llama-3.1-8b", "--gpu", "h100", "--weights", "bf16", "--isl", "2000", "--osl", "300"]


def scenario(bench, name):
    return os.path.join(bench.source, "scenarios", name + ".yaml")


def summary(bench, name, *more):
    return bench.json(0, "run", scenario(bench, name), *more).get("summary", {})


def test_examples_run_and_describe(bench):
    for name in EXAMPLES:
        run = bench.json(0, "run", scenario(bench, name))
        total = sum(run["summary"].get(key, 0) for key in ("completed", "rejected", "failed", "cancelled", "in_flight"))
        bench.check(total > 0 and run["verdict"], f"{name}: {total} requests, verdict {run['verdict']!r}")
        described = bench.json(0, "workload", "describe", scenario(bench, name))
        bench.check(described["requests"] >= total, f"{name}: describes {described['requests']}, ran {total}")
        mean = run["summary"]["total_input_tokens"] / run["summary"]["completed"]
        bench.check(abs(described["prompt_tokens"]["mean"] / mean - 1) < 0.1, f"{name}: mean prompt {mean}")


def test_resolved_scenarios_give_the_same(bench):
    for name in ("load_mix", "load_daily", "load_trace_csv", "load_batch", "load_host_cache"):
        bench.exits(0, "run", scenario(bench, name), "--output", name)
        again = bench.json(0, "run", os.path.join(bench.folder, name, "scenario.resolved.yaml"))["summary"]
        bench.check(again == summary(bench, name), f"{name}: the resolved scenario is the same")


def test_leaps_do_not_matter(bench):
    for name in ("load_on_off", "load_bursty", "load_mix", "load_host_cache"):
        a, b = summary(bench, name), summary(bench, name, "--no-leap")
        bench.check(a == b, f"{name}: with and without leaps: "
                    f"{[(k, a.get(k), b.get(k)) for k in a if a.get(k) != b.get(k)][:4]}")


def test_mix(bench):
    run = bench.json(0, "run", scenario(bench, "load_mix"))
    classes, tenants = run["classes"], run["tenants"]
    bench.check(list(classes) == ["chat", "assistant", "jobs"], "classes in the order of the scenario")
    bench.check(sum(c["requests"] for c in classes.values()) == 1500, "every request is of a class")
    bench.check(list(tenants) == ["acme", "globex"], "two tenants")
    good = sum(c["request_goodput"] for c in classes.values())
    bench.check(abs(good - run["summary"]["request_goodput"]) < 1e-9, "goodput adds up to the joint one")
    bench.check(classes["chat"]["p99_ttft_ms"] < classes["jobs"]["p99_ttft_ms"], "chat goes before jobs")
    out, _ = bench.exits(0, "run", scenario(bench, "load_mix"))
    bench.check("assistant" in out and "globex" in out and "queue" in out, "tables in the text")


def test_clients_who_give_up(bench):
    run = bench.json(0, "run", scenario(bench, "load_impatient"), "--output", "impatient")
    failed, cancelled = run["summary"]["failed"], run["summary"]["cancelled"]
    bench.check(run["summary"]["completed"] + failed + cancelled == 5000 and failed > 1000, f"{failed} of 5000 gave up")
    bench.check(150 < cancelled < 280, f"about one in twenty went away by himself: {cancelled}")
    bench.check(run["verdict"] == f"saturated: {failed:.0f} of 5000 clients gave up waiting", run["verdict"])
    rows = list(csv.DictReader(io.StringIO(bench.read("impatient", "requests.csv").decode())))
    waits = {round(float(r["finish_s"]) - float(r["arrival_s"]), 6) for r in rows if r["outcome"] == "failed"}
    bench.check(waits == {20.0}, f"each after exactly its 20 s: {sorted(waits)[:5]}")
    gone = [float(r["finish_s"]) - float(r["arrival_s"]) for r in rows if r["outcome"] == "cancelled"]
    bench.check(len(set(gone)) > 0.9 * len(gone) and max(gone) < 20, "each in his own time, before the timeout")
    def lost(begin, end):
        part = [r["outcome"] == "failed" for r in rows if begin <= float(r["arrival_s"]) < end]
        return sum(part) / len(part)
    bench.check(lost(0, 110) == 0, "nobody leaves before the rush")
    bench.check(lost(160, 240) > 0.9, "in the rush nearly all do, although the server could answer half of them")
    bench.check(lost(260, 320) < 0.05, "half a minute later it is over")


def test_stopped_runs(bench):
    s = summary(bench, "load_on_off")
    bench.check(s["duration"] >= 300 and s["duration"] < 305, f"stopped after 5 minutes: {s['duration']}")
    precise = summary(bench, "load_bursty")
    done = precise["completed"]
    bench.check(100 < done < 20000, f"precision stops the run after {done} requests")
    tighter = summary(bench, "load_bursty", "--precision", "5%")
    bench.check(tighter["completed"] > done, "a tighter one later")
    bench.check(tighter["mean_ttft_ms_ci95"] < 0.06 * tighter["mean_ttft_ms"], "and it is as precise as asked for")
    bench.check(summary(bench, "load_ramp").get("saturated") == 1, "a ramp to 40 /s saturates one H100")


def test_traces(bench):
    points = bench.json(0, "compare", scenario(bench, "load_trace_mooncake"))["points"]
    hits = {p["label"]: p["summary"]["prefix_cache_hit_rate"] for p in points}
    found = hits.pop("router=prefix-aware")
    bench.check(all(0.3 < hit < 0.4 for hit in hits.values()), f"prefixes are found again: {hits}")
    bench.check(0.6 < found < 0.623, f"who looks for them finds nearly all there are: {found}")
    notes = {p["label"]: p["notes"] for p in points}
    bench.check([k for k, v in notes.items() if v] == ["router=session-affinity"], f"sessions without users: {notes}")
    bench.check(all(len(p["by_replica"]) == 4 for p in points), "four replicas each")
    run = bench.json(0, "run", scenario(bench, "load_trace_csv"))
    bench.check(any("no output tokens" in note for note in run["notes"]), f"rows left out are said: {run['notes']}")
    path = os.path.join(bench.source, "scenarios", "data", "chats_mooncake.jsonl")
    described = bench.json(0, "workload", "describe", path)
    bench.check(described["requests"] == 400 and described["prefix_share"] > 0.3, "a trace describes itself")
    bench.exits(0, "workload", "describe", path, "--plot", "plot.csv")
    rows = list(csv.DictReader(io.StringIO(bench.read("plot.csv").decode())))
    bench.check({r["series"] for r in rows} == {"rate", "prompt_cdf", "output_cdf"}, "three series to plot")
    bench.check(float([r for r in rows if r["series"] == "output_cdf"][-1]["y"]) == 1, "a distribution ends at 1")


def test_every_format_of_a_trace_is_the_same_load(bench):
    points = bench.json(0, "compare", scenario(bench, "load_trace_formats"))["points"]
    *plain, bailian = [p["summary"] for p in points]
    same = all(p.keys() == plain[0].keys() and all(abs(p[k] - v) <= 1e-9 * abs(v) for k, v in plain[0].items())
               for p in plain)
    bench.check(len(plain) == 4 and same, "four formats, the same answer")
    bench.check(plain[0]["completed"] == 40 and plain[0]["total_input_tokens"] == 39392, "and nothing left out")
    bench.check(0.6 < bailian["prefix_cache_hit_rate"] < 0.7, "chats of Qwen-Bailian find their history again")


def test_mooncake_through_each_router(bench):
    trace = os.path.join(bench.source, "..", "shared", "traces", "conversation_trace.jsonl")
    if not os.path.exists(trace):
        print("  skipped: the conversation trace of Mooncake is not here")
        return
    for cache, least, most in (("", 0.045, 0.08), ("memory: {host_cache: {size: 400 GB}}\n", 0.12, 0.34)):
        bench.write("moon.yaml", "model: llama-3.1-8b\nreplica: {gpu: h100}\nengine: vllm-0.24\nreplicas: 4\n" + cache +
                    f"workload: {{trace: {{file: {trace}}}}}\nsweep: {{router: [random, round-robin, power-of-two, "
                    "least-outstanding, least-kv, session-affinity, vllm-dp, prefix-aware]}\n")
        points = {p["label"].removeprefix("router="): p["summary"]
                  for p in bench.json(0, "compare", "moon.yaml")["points"]}
        hits = {name: s["prefix_cache_hit_rate"] for name, s in points.items()}
        bench.check(all(s["completed"] == 12031 for s in points.values()), "every request is answered")
        bench.check(all(least < hit < most for hit in hits.values()), f"hits with {cache!r}: {hits}")
        gain = 2 if cache else 1.3
        bench.check(hits["prefix-aware"] > gain * max(v for k, v in hits.items() if k != "prefix-aware"),
                    f"looking for prefixes finds {gain} times as many: {hits}")
        if cache:
            ttft = {name: s["mean_ttft_ms"] for name, s in points.items()}
            bench.check(ttft["prefix-aware"] == min(ttft.values()), f"and TTFT is the shortest: {ttft}")


def test_spread(bench):
    fixed = bench.json(0, "run", *FLAGS, "--concurrency", "32")
    spread = bench.json(0, "run", *FLAGS, "--concurrency", "32", "--spread", "20%")
    bench.check(any("lockstep" in note for note in fixed["notes"]), "fixed lengths in a closed loop: a note")
    bench.check(not spread["notes"], "none when they are spread")
    bench.check(spread["summary"]["mean_ttft_ms"] < 0.7 * fixed["summary"]["mean_ttft_ms"],
                "spread lengths have the shorter TTFT")
    out, _ = bench.exits(0, "run", *FLAGS, "--concurrency", "32", "--range-ratio", "0.2", "--print-scenario")
    bench.check("range_ratio" in out and "ratio: 0.2" in out, out)
    text, _ = bench.exits(0, "run", *FLAGS, "--concurrency", "32", "--print-scenario")
    bench.write("fixed.yaml", text)
    again = bench.json(0, "run", "fixed.yaml", "--spread", "20%")
    bench.check(again["summary"] == spread["summary"], "beside a scenario --spread means the same")
    bench.exits(2, "run", scenario(bench, "load_mix"), "--spread", "0.2")
    limited = bench.json(0, "run", *FLAGS, "--concurrency", "8", "--request-rate", "2", "--num-prompts", "100")
    bench.check(limited["summary"]["duration"] > 40, "a closed loop released at a rate")


def test_chrome_trace(bench):
    bench.exits(0, "run", scenario(bench, "load_batch"), "--trace", "trace.json")
    events = json.loads(bench.read("trace.json"))["traceEvents"]
    phases = {e["ph"] for e in events}
    bench.check(phases == {"M", "X", "C", "b", "e"}, f"metadata, steps, counters and requests: {phases}")
    bench.check(sum(e["ph"] == "b" for e in events) == sum(e["ph"] == "e" for e in events), "what begins ends")
    ends = [e["ts"] + e["dur"] for e in events if e["ph"] == "X"]
    bench.check(len(ends) > 10, "steps")


def test_summary_file(bench):
    bench.exits(0, "run", scenario(bench, "load_mix"), "--output", "mix")
    written = json.loads(bench.read("mix", "summary.json"))
    for key in ("verdict", "classes", "tenants", "timeline"):
        bench.check(key in written, f"summary.json has {key}")
    bench.check(len(written["timeline"]["start_s"]) == 100, "100 parts")
    queue, prefill = written["mean_ttft_queue_ms"], written["mean_ttft_prefill_ms"]
    bench.check(abs(queue + prefill - written["mean_ttft_ms"]) < 1e-6 * written["mean_ttft_ms"], "TTFT is split whole")


def test_bad_workloads(bench):
    def refused(workload, *says, flags=()):
        bench.write("bad.yaml", "model: llama-3.1-8b\nreplica: {gpu: h100}\nengine: vllm\nworkload:\n" + workload)
        _, err = bench.exits(2, "run", "bad.yaml", *flags)
        for what in says:
            bench.check(what in err, f"{workload!r} says {what!r}: {err[:300]!r}")

    lengths = "prompt: 10 tokens, output: 10 tokens"
    refused("  open: {rate: 1 /s, process: weibull, %s}\n  requests: 5\n" % lengths, "bad.yaml:5:", "poisson, gamma")
    refused("  open: {rate: 1 /s, process: gamma, %s}\n  requests: 5\n" % lengths, "burstiness")
    refused("  open: {rate: 1 /s, ramp: {strategy: linear, from: 1 /s, to: 2 /s}, %s}\n  requests: 5\n" % lengths,
            "'rate'")
    refused("  open: {rate: 1 /s, on_off: {on: 1 s, off: 1 s}, daily: {curve: [1, 2]}, %s}\n  requests: 5\n" % lengths,
            "at most one")
    refused("  open: {rate: 1 /s, spikes: [{at: 5 s, duration: 9 s, factor: 2}, {at: 6 s, duration: 1 s, factor: 2}], "
            "%s}\n  requests: 5\n" % lengths, "before the spike above")
    refused("  open: {rate: 1 /s, prompt: {zipf: {low: 1 token, high: 1e9 tokens, exponent: 1}}, output: 1 token}\n"
            "  requests: 5\n", "1,000,000")
    refused("  open: {rate: 1 /s, prompt: {csv: {file: none.csv, column: x}}, output: 1 token}\n  requests: 5\n",
            "no file")
    refused("  open: {rate: 1 /s}\n  classes: {a: {share: 0, %s}}\n  requests: 5\n" % lengths, "share above 0")
    refused("  open: {rate: 1 /s}\n  classes: {a: {share: 1, colour: red, %s}}\n  requests: 5\n" % lengths, "colour")
    refused("  trace: {file: bad.yaml, format: parquet}\n", "unknown format", "mooncake")
    bench.write("empty.csv", "arrival_s,prompt,output\n")
    refused("  trace: {file: empty.csv}\n", "no request")
    bench.write("late.csv", "arrival_s,prompt,output\n5,1,1\n4,1,1\n")
    refused("  trace: {file: late.csv}\n", "late.csv:3:", "sort")
    bench.write("long.csv", "arrival_s,prompt,output\n" + "0,100000,100\n" * 60000)
    before = bench.processor_time()
    refused("  trace: {file: long.csv, speed: 0}\n", "speed")
    bench.check(bench.processor_time() - before < 5 * bench.slowness, "refused at once")
    bench.exits(2, "workload")
    bench.exits(2, "workload", "describe")
    bench.exits(2, "workload", "describe", "nothing-there")
    bench.exits(2, "workload", "describe", "late.csv", "--trace-format", "azure")


def test_long_traces_meet_the_size_guard(bench):
    with open(bench.path("huge.csv"), "w", encoding="ascii") as out:
        out.write("arrival_s,prompt,output\n")
        line = "1,120000,1\n" * 10000
        for _ in range(20):
            out.write(line)
    bench.write("huge.yaml", "model: llama-3.1-8b\nreplica: {gpu: h100}\nengine: {profile: vllm, "
                "max_num_batched_tokens: 64, max_num_seqs: 8}\nworkload:\n  trace: {file: huge.csv}\n")
    _, err = bench.exits(2, "run", "huge.yaml")
    bench.check("too large to simulate" in err and "workload.requests" in err, err[:300])
