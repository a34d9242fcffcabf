"""What the commands compute: flags are the scenario, results are the same bytes again."""

import csv
import io
import json
import os

FLAGS = ["--model", "meta-llama/Llama-3.1-70B-Instruct", "--gpu", "h100", "--tp", "4", "--isl", "2000",
         "--osl", "50", "--concurrency", "8"]
RUN_FILES = ["requests.csv", "scenario.resolved.yaml", "summary.json", "timeline.csv"]


def tree(bench, folder):
    return {name: bench.read(folder, name) for name in sorted(os.listdir(bench.path(folder)))}


def test_run_from_flags(bench):
    run = bench.json(0, "run", *FLAGS)
    summary = run.get("summary", {})
    for key in ("request_throughput", "output_throughput", "total_token_throughput", "mean_ttft_ms",
                "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms", "mean_itl_ms", "mean_e2el_ms"):
        bench.check(summary.get(key, 0) > 0, f"summary has {key}")
    bench.check(summary.get("completed") == 80, "10 requests for each concurrent one")
    out, _ = bench.exits(0, "run", *FLAGS)
    for word in ("TTFT", "TPOT", "what binds", "resident conversations", "running / waiting"):
        bench.check(word in out, f"table has {word}")
    out, _ = bench.exits(0, "run", *FLAGS, "--format", "csv")
    header, values = out.splitlines()
    bench.check(len(header.split(",")) == len(values.split(",")), "CSV")


def test_every_scenario_of_the_catalogue_runs(bench):
    folder = os.path.join(bench.source, "scenarios")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
    bench.check(len(names) >= 31, f"{len(names)} scenarios")
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            swept = "\nsweep:" in file.read()
        result = bench.json(0, "compare" if swept else "run", os.path.join(folder, name))
        for point in result["points"] if swept else [result]:
            summary = point.get("summary", {})
            ended = sum(summary.get(k, 0) for k in ("completed", "failed", "rejected", "cancelled", "in_flight"))
            bench.check(point.get("reason") or ended > 0, f"{name}: {point.get('label')} runs or says why not")


def summaries(bench, name):
    points = bench.json(0, "compare", os.path.join(bench.source, "scenarios", name + ".yaml"))["points"]
    return {p["label"].split("=")[-1]: p for p in points}


def test_what_a_knob_buys(bench):
    lpm = summaries(bench, "sglang_lpm")
    hits = {k: p["summary"]["prefix_cache_hit_rate"] for k, p in lpm.items()}
    bench.check(hits["lpm"] > 0.9 and hits["fcfs"] < 0.7, f"lpm keeps a report's questions together: {hits}")
    ttft = {k: p["summary"]["mean_ttft_ms"] for k, p in lpm.items()}
    bench.check(ttft["lpm"] < 0.4 * ttft["fcfs"], f"and answers sooner: {ttft}")
    trtllm = summaries(bench, "trtllm_capacity")
    evicting, safe = trtllm["MAX_UTILIZATION"], trtllm["GUARANTEED_NO_EVICT"]
    bench.check(safe["summary"]["preemptions"] == 0 and evicting["summary"]["preemptions"] > 50, "who pauses")
    bench.check(safe["summary"]["mean_kv_cache_usage"] < 0.85 < evicting["summary"]["mean_kv_cache_usage"],
                "what is promised stays empty for a while")
    bench.check(safe["binds"] == evicting["binds"] == "KV memory", f"{safe['binds']}, {evicting['binds']}")
    marks = [p["summary"] for p in summaries(bench, "vllm_watermark").values()]
    bench.check([m["preemptions"] > 0 for m in marks] == [True, False, False], "a watermark of 5 % prevents them")
    bench.check(marks[0]["mean_ttft_ms"] < marks[1]["mean_ttft_ms"] < marks[2]["mean_ttft_ms"], "for a longer queue")


def test_flags_are_the_scenario(bench):
    text, _ = bench.exits(0, "run", *FLAGS, "--print-scenario")
    bench.write("printed.yaml", text)
    by_flags = bench.json(0, "run", *FLAGS)
    by_file = bench.json(0, "run", "printed.yaml")
    by_flags.pop("label"), by_file.pop("label")
    bench.check(by_flags == by_file, "flags == scenario")
    vllm = [word.replace("--tp", "--tensor-parallel-size").replace("--isl", "--random_input_len")
            for word in FLAGS]
    spelled = bench.json(0, "run", *vllm)
    spelled.pop("label", None)
    bench.check(spelled == by_flags, "vLLM's spellings")


def test_measured_requests_are_replayed(bench):
    """Our own requests as the measured ones: no error; measured half as fast, the first token after as much more."""
    bench.exits(0, "run", *FLAGS, "--set", "workload={open: {rate: 2 /s, prompt: 900 tokens, output: 60 tokens}, "
                "requests: 40}", "--output", "own")
    text, _ = bench.exits(0, "run", *FLAGS, "--print-scenario")
    bench.write("deployment.yaml", text)
    rows = list(csv.DictReader(io.StringIO(bench.read("own", "requests.csv").decode())))
    same = bench.json(0, "validate", "--requests", bench.path("own/requests.csv"), "--scenario", "deployment.yaml")
    bench.check(same["requests"] == same["finished"] == 40, "all replayed")
    for what in ("ttft", "tpot", "e2el", "finish_curve"):
        bench.check(abs(same[what]["error_percent"]) < 1e-4, f"{what}: {same[what]}")
    for row in rows:
        arrival, first, last = (float(row[name]) for name in ("arrival_s", "first_token_s", "finish_s"))
        row["first_token_s"], row["finish_s"] = 2 * first - arrival, 2 * last - arrival
    bench.write("slow.csv", "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n" + "".join(
        f"{r['arrival_s']},{r['prompt_tokens']},{r['output_tokens']},{r['first_token_s']!r},{r['finish_s']!r}\n" for r in rows))
    slow = bench.json(0, "validate", "--requests", "slow.csv", "--scenario", "deployment.yaml")
    for what in ("ttft", "tpot", "e2el"):
        bench.check(abs(slow[what]["error_percent"] + 50) < 1e-4, f"measured half as fast: {what}: {slow[what]}")
    bench.check(slow["finish_curve"]["error_percent"] < -10, "the curve is behind")
    rows, _ = bench.exits(0, "validate", "--requests", "slow.csv", "--scenario", "deployment.yaml", "--format", "csv")
    bench.check(len(rows.splitlines()) == 41, "a row a request")


def test_flags_lie_over_a_file(bench):
    text, _ = bench.exits(0, "run", *FLAGS, "--print-scenario")
    bench.write("printed.yaml", text)
    for extra in (["--tp", "8"], ["--concurrency", "4"], ["--max-num-seqs", "4"],
                  ["--kv", "fp8"], ["--isl", "1000"]):
        flags = list(FLAGS)
        if extra[0] in flags:
            flags[flags.index(extra[0]) + 1] = extra[1]
        else:
            flags += extra
        if extra[0] == "--concurrency":
            flags += ["--num-prompts", "80"]
        a = bench.json(0, "run", "printed.yaml", *extra)
        b = bench.json(0, "run", *flags)
        a.pop("label", None), b.pop("label", None)
        bench.check(a == b, f"{extra} beside a file")


def test_set_and_seed_count(bench):
    base = bench.json(0, "run", *FLAGS).get("summary", {})
    faster = bench.json(0, "run", *FLAGS, "--set", "gpu.memory.bandwidth=6 TB/s")
    bench.check(faster["summary"]["mean_tpot_ms"] < base["mean_tpot_ms"], "more bandwidth, less TPOT")
    bench.check(faster["trust"] == "what-if", faster["trust"])
    arrivals = ["run", *FLAGS[:-2], "--request-rate", "1", "--num-prompts", "40"]
    one = bench.json(0, *arrivals, "--seed", "1")
    bench.check(one == bench.json(0, *arrivals, "--seed", "1"), "same seed, same result")
    bench.check(one["summary"] != bench.json(0, *arrivals, "--seed", "2")["summary"], "the seed counts")


def test_output_is_the_same_bytes(bench):
    for name in ("one", "two"):
        bench.exits(0, "run", *FLAGS, "--output", name)
    first = tree(bench, "one")
    bench.check(sorted(first) == RUN_FILES, f"files: {sorted(first)}")
    bench.check(first == tree(bench, "two"), "two runs, same bytes")
    json.loads(first["summary.json"])
    bench.exits(0, "run", *FLAGS, "--output", "two")
    bench.check(first == tree(bench, "two"), "a result may be replaced")
    bench.exits(0, "run", *FLAGS, "--no-leap", "--output", "three")
    other = tree(bench, "three")
    bench.check(first["requests.csv"] == other["requests.csv"], "leap = step")
    bench.exits(0, "run", "one/scenario.resolved.yaml", "--output", "again")
    bench.check(tree(bench, "again")["requests.csv"] == first["requests.csv"],
                "the resolved scenario runs to the same result")


COMPARE = ["--model", "llama-3.1-70b", "--gpu", "b200,mi355x", "--weights", "bf16", "--isl", "1000",
           "--osl", "50", "--concurrency", "1,8", "--slo-tpot", "50 ms"]


def test_compare(bench):
    whole = bench.json(0, "compare", *COMPARE)
    points = whole.get("points", [])
    bench.check([(p["gpu"], p["users"]) for p in points] ==
                [("b200", 1), ("b200", 8), ("mi355x", 1), ("mi355x", 8)], "points in order")
    alone = bench.json(0, "run", "--model", "llama-3.1-70b", "--gpu", "mi355x", "--weights", "bf16",
                       "--isl", "1000", "--osl", "50", "--concurrency", "8", "--num-prompts", "80",
                       "--slo-tpot", "50 ms")
    bench.check(points[3]["summary"] == alone["summary"], "a point is what run says")
    bench.check(len(whole.get("headline", [])) == 1, "one sentence for two set-ups")
    out, _ = bench.exits(0, "compare", *COMPARE)
    for word in ("resident", "running", "waiting", "what binds", "users at mean TPOT <= 50 ms",
                 "per dollar", "mi355x, TP 1 against b200, TP 1"):
        bench.check(word in out, f"compare shows {word}")


def test_workers_do_not_matter(bench):
    for jobs in ("1", "2"):
        bench.exits(0, "compare", *COMPARE, "--jobs", jobs, "--output", "jobs" + jobs)
    bench.check(tree(bench, "jobs1") == tree(bench, "jobs2"), "--jobs 1 = --jobs 2")


def test_infeasible_points_are_rows(bench):
    args = ["compare", "--model", "llama-3.1-70b", "--gpu", "h100,b200", "--weights", "bf16",
            "--isl", "500", "--osl", "20", "--concurrency", "2"]
    points = bench.json(0, *args).get("points", [])
    bench.check([p["feasible"] for p in points] == [False, True], "one of two is feasible")
    bench.check("does not fit" in points[0]["reason"] and "h100" in points[0]["nearest"],
                f"{points[0]['reason']} / {points[0]['nearest']}")
    args[args.index("h100,b200")] = "h100"
    points = bench.json(3, *args).get("points", [])
    bench.check(len(points) == 1, "exit 3 with the row when nothing is feasible")
    run = bench.json(3, "run", *args[1:])
    bench.check(run.get("feasible") is False, "run says so too")


def test_values_that_do_not_go_together_are_rows(bench):
    flags = ["--model", "llama-3.1-70b", "--weights", "bf16", "--isl", "500", "--osl", "20",
             "--concurrency", "2"]
    points = bench.json(0, "compare", *flags, "--gpu", "b200", "--tp", "1,3").get("points", [])
    bench.check([p["feasible"] for p in points] == [True, False], "TP 3 is a row")
    bench.check("tp 3 does not divide" in points[1]["reason"], points[1]["reason"])
    points = bench.json(0, "compare", *flags, "--gpu", "b200,mi355x", "--engine", "trtllm")["points"]
    bench.check("does not run on" in points[1]["reason"], points[1]["reason"])
    _, err = bench.exits(2, "compare", *flags, "--gpu", "b200,b2000")
    bench.check("b200" in err, "a name that means nothing is no row")


def test_several_scenarios_and_diff(bench):
    for name, gpu in (("a", "b200"), ("b", "h200")):
        text, _ = bench.exits(0, "run", "--model", "llama-3.1-70b", "--gpu", gpu, "--tp", "2", "--isl",
                              "500", "--osl", "20", "--concurrency", "2", "--print-scenario")
        bench.write(name + ".yaml", text)
        bench.exits(0, "run", name + ".yaml", "--output", "result-" + name)
    out, _ = bench.exits(0, "compare", "a.yaml", "b.yaml")
    bench.check("b200" in out and "h200" in out, out)
    diff = bench.json(0, "diff", "result-a", "result-b").get("differences", [])
    bench.check(any(d["kind"] == "scenario" and "gpu" in d["key"] for d in diff), "diff names the GPU")
    bench.check(any(d["kind"] == "result" and "ttft" in d["key"] for d in diff), "and the metrics")
    bench.check(bench.json(0, "diff", "result-a", "result-a").get("differences") == [], "no difference")
    out, _ = bench.exits(0, "sweep", "--model", "llama-3.1-70b", "--gpu", "b200", "--isl", "500",
                         "--osl", "20", "--concurrency", "1,2", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    bench.check(len(rows) == 2, "sweep CSV: two rows")
    bench.check(all(float(r["mean_ttft_ms"]) > 0 and float(r["kv_capacity_tokens"]) > 1000 for r in rows),
                "sweep CSV holds plain numbers under the names of vllm bench serve")


def test_schedulers(bench):
    points = bench.json(0, "compare", "schedulers", "--set", "workload.requests=640")["points"]
    of = {p["label"].removeprefix("engine="): p["summary"] for p in points}
    vllm, sglang = of["vllm-0.24"], of["sglang-rules"]
    bench.check(sglang["mean_ttft_ms"] < vllm["mean_ttft_ms"], "prompts first: the first token comes sooner")
    bench.check(sglang["p99_itl_ms"] > vllm["p99_itl_ms"], "and those who decode wait")
    bench.check(of["static-batch"]["output_throughput"] < 0.9 * of["orca"]["output_throughput"],
                "a closed batch wastes")
    bench.check(all(p["feasible"] and p["summary"]["completed"] == 640 for p in points), "all complete")
    orca = ["run", "--model", "llama-3.1-8b", "--gpu", "h100", "--engine", "orca", "--isl", "500", "--osl", "20",
            "--concurrency", "2", "--set"]
    for knob in ("watermark=0.1", "max_num_batched_tokens=512", "swap_space=1 GiB"):
        _, err = bench.exits(2, *orca, "engine." + knob)
        bench.check(knob.split("=")[0] in err, f"Orca has no {knob}")


def test_speculation_and_parallelism(bench):
    points = bench.json(0, "compare", "deepseek_mtp", "--set", "workload.requests=64")["points"]
    of = {(p["set_up"].split("mtp x")[1] if "mtp x" in p["set_up"] else "0", p["users"]): p["summary"] for p in points}
    bench.check(of["2", 8]["mean_tpot_ms"] < of["1", 8]["mean_tpot_ms"] < of["0", 8]["mean_tpot_ms"],
                "drafts that are mostly accepted make tokens come faster")
    bench.check(abs(of["1", 8]["spec_decode_acceptance_length"] - 1.85) < 0.02, "1.85 tokens a step")
    bench.check(all("spec_decode_num_drafts" not in s for (k, _), s in of.items() if k == "0"), "none without drafts")
    drawn = bench.json(0, "run", "llama70b_draft_model")
    bench.check("unvalidated: speculative decoding" in drawn["trust"], "trust says what nobody has measured")
    again = bench.json(0, "run", "llama70b_draft_model", "--set", "seed=2")
    bench.check(again["summary"]["mean_tpot_ms"] != drawn["summary"]["mean_tpot_ms"], "another seed draws anew")
    ranks = "replica={gpu: h200, tp: 1, dp: 8, ep: 8}"
    run = ["run", "deepseek_attention_dp", "--set", ranks, "--set", "workload.requests=100"]
    leap, step = bench.json(0, *run), bench.json(0, *run, "--no-leap")
    bench.check(leap["summary"] == step["summary"], "ranks leap as they step")
    piped = bench.json(0, "run", "llama405b_pipeline", "--set", "workload.requests=32")
    bench.check("unvalidated: pipeline stages" in piped["trust"], "so does a pipeline")
    _, err = bench.exits(2, "run", "deepseek_mtp", "--set", "speculation=null")
    bench.check("acceptance" in err, "acceptance is asked for")
    _, err = bench.exits(2, "run", "deepseek_attention_dp", "--set", "engine.moe_a2a_backend=deepep")
    bench.check("dp 1" in err, "nobody to exchange with")


def test_conversations(bench):
    run = bench.json(0, "run", "--model", "llama-3.1-70b", "--gpu", "b200", "--weights", "bf16",
                     "--turns", "4", "--history", "2000", "--turn-input", "200", "--osl", "50",
                     "--think-time", "2 s", "--concurrency", "4", "--num-prompts", "32")
    bench.check(run.get("workload") == "conversations", "a workload of conversations")
    bench.check(run.get("context_tokens") == 3000, "history and four turns")
    bench.check(run["summary"].get("prefix_cache_hit_rate", 0) > 0.3, "the history is found again")
