"""Every scenario of a cluster runs, and shows what it is there to show."""


def short(bench, name, requests, *more):
    return bench.json(0, "run", name, "--set", f"workload.requests={requests}", *more)["summary"]


def test_mixed_fleet(bench):
    point = bench.json(0, "run", "mixed_fleet", "--set", "workload.requests=300")
    bench.check(point["summary"]["completed"] == 300, "all complete")
    bench.check("b200" in point["set_up"] and "h100-sxm" in point["set_up"], point["set_up"])
    bench.check(point["model"] == "llama-3.1-70b + llama-3.1-8b", point["model"])
    priced = bench.json(0, "compare", "mixed_fleet", "--set", "workload.requests=300")
    (set_up,) = priced["set_ups"]
    for cost in set_up["costs"]:
        pools, tokens = cost["pools"], set_up["best_output_throughput"] * 730 * 3600
        bench.check(abs(pools["old"] - 4 * 0.60 * 730) < 1e-6 and abs(pools["small"] - 2 * 0.60 * 730) < 1e-6, pools)
        bench.check(pools["new"] > 2 * 1000, f"two B200 by the sheet: {pools}")
        bench.check(abs(sum(pools.values()) - cost["per_month"]) < 1e-6, f"the pools add up: {cost}")
        bench.check(abs(cost["per_million_output_tokens"] - cost["per_month"] / tokens * 1e6) < 1e-6, cost)
    for price, what in (("0.60", "currency and period"), ("0.60 EUR/h", "EUR/h"), ("0 USD/h", "more than nothing")):
        _, error = bench.exits(2, "run", "mixed_fleet", "--set", f"pools.old.price={price}")
        bench.check(what in error, error)


def test_disaggregated(bench):
    summary = short(bench, "disaggregated", 300, "--set", "workload.warmup=0 %")
    parts = [summary[f"mean_ttft_{part}_ms"] for part in ("queue", "prefill", "transfer", "first_decode")]
    bench.check(abs(sum(parts) - summary["mean_ttft_ms"]) < 1e-6 * summary["mean_ttft_ms"],
                f"the parts of TTFT add up: {parts} and {summary['mean_ttft_ms']}")
    bench.check(all(part > 0 for part in parts), parts)
    whole = short(bench, "disaggregated", 300, "--set", "transfer.mode=whole")
    bench.check(whole["mean_ttft_transfer_ms"] > summary["mean_ttft_transfer_ms"],
                "layer-wise transfer hides most of it")
    bench.exits(0, "run", "disaggregated", "--set", "workload.requests=50", "--output", "split")
    header = bench.read("split", "requests.csv").split(b"\n")[0]
    bench.check(header.endswith(b"prefill_replica,prefilled_s,transfer_start_s,transferred_s"), header)
    once = bench.read("split", "requests.csv")
    bench.exits(0, "run", "disaggregated", "--set", "workload.requests=50", "--no-leap", "--output", "split")
    bench.check(bench.read("split", "requests.csv") == once, "leaps change nothing")


def test_stopped_with_transfers_under_way(bench):
    point = bench.json(0, "run", "disaggregated_steady", "--set", "workload.duration=3 min", "--output", "cut")
    summary = point["summary"]
    bench.check(abs(summary["duration"] - 180) < 5, f"stopped at its time: {summary['duration']}")
    bench.check(summary["in_flight"] > 0 and summary["completed"] > 1000, "what is in flight is said")
    once = bench.read("cut", "requests.csv")
    bench.exits(0, "run", "disaggregated_steady", "--set", "workload.duration=3 min", "--no-leap", "--output", "cut")
    bench.check(bench.read("cut", "requests.csv") == once, "leaps change nothing")
    text, _ = bench.exits(0, "run", "disaggregated_steady", "--set", "workload.duration=1 min", "--set",
                          "workload.warmup=10 s")
    bench.check("first decode" in text and "transfer" in text, "the table splits TTFT whole")
    exact = bench.json(0, "run", "disaggregated", "--set", "workload.requests=20000", "--set",
                       "workload.precision=10 %", "--set", "workload.open.rate=3 /s", "--set", "workload.warmup=auto")
    bench.check(100 < exact["summary"]["completed"] < 19000, f"stopped when known to 10 %: {exact['summary']}")


def test_routers(bench):
    points = bench.json(0, "compare", "routers", "--set", "workload.requests=800")["points"]
    hits = {p["set_up"]: p["summary"].get("prefix_cache_hit_rate", 0) for p in points}
    find = {name: rate for set_up, rate in hits.items() for name in ("round-robin", "prefix-aware")
            if name in set_up}
    bench.check(find["prefix-aware"] > find["round-robin"] + 0.1, f"prefix-aware routing hits more: {hits}")


def test_faults(bench):
    summary = short(bench, "faults", 4000, "--set", "faults.mttf=20 min")
    bench.check(summary["faults"] >= 1, "replicas are lost")
    bench.check(summary["completed"] + summary.get("failed", 0) == 4000, "nothing is lost")
    bench.check(summary["retries"] > 0, "requests are tried again")


def test_autoscale(bench):
    summary = short(bench, "autoscale", 4000)
    bench.check(summary["completed"] == 4000, "all complete")
    bench.check(summary["gpu_seconds"] < 6 * summary["duration"], "GPUs were given back or not taken")


def test_torus(bench):
    points = bench.json(0, "compare", "torus", "--set", "workload.requests=64")["points"]
    tpot = [p["summary"]["mean_tpot_ms"] for p in points]
    bench.check(len(tpot) == 2 and tpot[0] > 0 and tpot[0] != tpot[1], f"fabrics differ: {tpot}")
    out, _ = bench.exits(0, "explain", "torus", "--batch", "32", "--context", "1K")
    bench.check("flows over torus-4x4" in out, "the source of the all-reduce is named")
    _, err = bench.exits(2, "run", "torus", "--set", "replicas=3")
    bench.check("has 16 GPUs" in err, err)


def test_platform(bench):
    out, _ = bench.exits(0, "platform", "show", "disaggregated")
    bench.check(out.startswith("graph platform {") and "450 GB/s" in out and out.count("gpu-") == 16, out[:300])
    document = bench.json(0, "platform", "show", "torus")
    bench.check(len(document["links"]) == 64 and len(document["replicas"]) == 2, "32 links both ways")
    bench.exits(0, "platform", "--help")
    bench.exits(2, "platform", "draw")


def test_explain_shows_the_fabric(bench):
    flags = ["--model", "llama-3.1-70b", "--weights", "fp8", "--tp", "8", "--batch", "32", "--context", "4K"]
    lines = {}
    for gpu in ("b200", "mi355x"):
        out, _ = bench.exits(0, "explain", *flags, "--gpu", gpu)
        lines[gpu] = next(line for line in out.split("\n") if "between a pair" in line)
    bench.check("900 GB/s one way between a pair, 900 GB/s of a GPU" in lines["b200"], lines["b200"])
    bench.check("77 GB/s one way between a pair, 538 GB/s of a GPU" in lines["mi355x"], lines["mi355x"])


def test_bad_clusters(bench):
    def fails(text, *parts):
        _, err = bench.exits(2, "run", bench.write("bad.yaml", text))
        for part in parts:
            bench.check(part in err, f"{part!r} in {err[-400:]}")

    head = "model: llama-3.1-8b\nengine: vllm-0.24\nworkload: {closed: {concurrent: 2, prompt: 100 tokens, " \
           "output: 10 tokens}, requests: 4}\n"
    fails(head + "pools: {a: {gpu: h100-sxm, role: prefill}}\n", "bad.yaml:4:", "a pool for prefill only")
    fails(head + "pools: {a: {gpu: h100-sxm, rolle: serve}}\n", "rolle", "role")
    fails(head + "replica: {gpu: h100-sxm}\npools: {a: {gpu: h100-sxm}}\n", "its own gpu")
    fails(head + "pools: {a: {gpu: h100-sxm}, b: {gpu: h100-sxm, model: llama-3.1-70b}}\n", "models")
    fails(head + "replica: {gpu: h100-sxm}\nfaults: {mttf: 1 h}\n", "mttr")
    fails(head + "replica: {gpu: h100-sxm}\nfaults: {events: [{at: 1 s, replica: 0, gpu: 1}]}\n", "exactly one")
    fails(head + "replica: {gpu: h100-sxm}\noperations: {autoscale: {min: 1, signal: kv, above: 20 %, below: 50 %}}\n",
          "less than 'above'")
    fails(head + "replica: {gpu: h100-sxm}\nrouter: {policy: random, staleness: 1 s}\n", "is of prefix-aware")
    fails(head + "replica: {gpu: h100-sxm}\nnetwork: {fabric: donut}\n", "donut")
    fails(head + "replica: {gpu: h100-sxm}\nrouter: nearest\n", "unknown name 'nearest'")
    fails(head.replace("vllm-0.24", "sarathi-serve") + "pools: {a: {gpu: h100-sxm, role: prefill}, b: {gpu: h100-sxm, role: decode}}\n",
          "handed over")
