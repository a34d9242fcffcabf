"""capacity, plan, tune, import and compare --equal."""
import json
import os

SMALL = ["--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "1000", "--osl", "100"]
PLAN = ["plan", "--model", "llama-3.1-8b", "--request-rate", "20", "--isl", "1000", "--osl", "100",
        "--gpu", "h100,b200,l4", "--tp", "1", "--weights", "bf16,fp8", "--engine", "vllm",
        "--slo", "p95 ttft <= 1 s", "--slo", "p95 tpot <= 30 ms", "--least-requests", "100"]


def test_capacity(bench):
    args = ["capacity", *SMALL, "--request-rate", "1", "--slo", "p95 ttft <= 1 s", "--slo",
            "p95 tpot <= 20 ms", "--seeds", "2", "--least-requests", "200"]
    found = bench.json(0, *args)
    bench.check(found.get("low_90", 0) <= found.get("capacity", -1) <= found.get("high_90", 0), found)
    bench.check(found.get("unit") == "requests/s", found.get("unit"))
    out, _ = bench.exits(0, *args)
    bench.check("sustains" in out and "beyond it" in out, out)
    bench.exits(0, *args, "--format", "csv")
    bench.exits(0, *args, "--output", "capacity")
    bench.check(sorted(os.listdir(bench.path("capacity"))) ==
                ["capacity.csv", "capacity.json", "scenario.resolved.yaml"], "the capacity folder")
    _, err = bench.exits(2, "capacity", *SMALL, "--request-rate", "1")
    bench.check("objective" in err, err)
    bench.exits(2, "capacity", *SMALL, "--request-rate", "1", "--slo", "p95 ttft <= 1")
    bench.exits(3, "capacity", *SMALL, "--request-rate", "1", "--slo", "mean tpot <= 1 us",
                "--seeds", "1", "--least-requests", "50")


def test_plan(bench):
    _, err = bench.exits(2, *PLAN)
    bench.check("no default sheet" in err, err)
    money = [*PLAN, "--prices", "per-gpu-2026-11", "--price", "l4=0.8/h", "--no-sensitivity"]
    found = bench.json(0, *money)
    bench.check(found.get("chosen") is not None and found.get("plans"), found.get("answer"))
    all_of_them = len(found.get("plans", [])) + len(found.get("rejected", []))
    bench.check(all_of_them == 6, f"{all_of_them} candidates ranked or rejected")
    bench.exits(0, *money, "--output", "plan")
    for name in ("plan.json", "plans.csv", "rejected.csv", "curves.csv", "hours.csv", "winner.yaml",
                 "launch.sh", "plan.resolved.yaml"):
        bench.check(os.path.exists(bench.path("plan/" + name)), name)
    bench.check(json.loads(bench.read("plan", "plan.json")) == found, "plan.json is what was printed")
    # The winner runs, and its launch command comes back as a scenario.
    bench.exits(0, "run", "plan/winner.yaml")
    gpu = found["chosen"]["gpu"]
    bench.exits(0, "import", "plan/launch.sh", "--gpu", gpu)
    out, _ = bench.exits(0, *money, "--quiet")
    for heading in ("The load", "The answer", "Rejected", "Before you sign", "Launch and check"):
        bench.check(heading in out, heading)
    # The plan that flags make is a plan file.
    text, _ = bench.exits(0, *money, "--print-plan")
    bench.write("flags.yaml", text)
    again = bench.json(0, "plan", "flags.yaml", "--least-requests", "100", "--no-sensitivity")
    bench.check(again.get("answer") == found.get("answer"), "flags and file agree")
    bench.exits(2, "plan", "flags.yaml", "--set", "load.nonsense=3")
    bench.exits(2, "plan", "no_such_plan")
    bench.exits(3, *money, "--slo", "mean tpot <= 1 us")


def test_import(bench):
    bench.write("launch.sh", "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 64\n")
    out, _ = bench.exits(0, "import", "launch.sh", "--gpu", "h100")
    bench.write("imported.yaml", out)
    bench.exits(0, "run", "imported.yaml")
    _, err = bench.exits(2, "import", "launch.sh")
    bench.check("--gpu" in err, err)
    bench.exits(2, "import", "missing.log", "--gpu", "h100")
    bench.write("rows.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,10\n1,200,20\n2,300,30\n")
    bench.exits(0, "import", "launch.sh", "rows.csv", "--gpu", "h100", "--output", "imported")
    bench.exits(0, "run", "imported/scenario.yaml")


def test_what_a_search_does_not_cover_is_refused(bench):
    for command in ("capacity", "tune"):
        _, err = bench.exits(2, command, "disaggregated", "--slo", "mean tpot <= 50 ms")
        bench.check("several pools" in err, err)
        _, err = bench.exits(2, command, "load_mix", "--slo", "mean tpot <= 50 ms")
        bench.check("objectives of its own" in err, err)


def test_tune(bench):
    tune = ["tune", *SMALL, "--concurrency", "64", "--slo", "p95 ttft <= 2 s", "--slo",
            "p95 tpot <= 20 ms", "--rounds", "1", "--least-requests", "100"]
    found = bench.json(0, *tune)
    bench.check(found.get("base", {}).get("capacity", 0) > 0, "the set-up as it is sustains something")
    bench.check(all(t.get("cause") or t.get("reason") for t in found.get("trials", [])), "causes")
    bench.check(not any("e+" in t.get("cause", "") for t in found["trials"]), "causes are for people")
    bench.exits(0, *tune, "--output", "tuned")
    for side in ("start", "scenario"):
        bench.exits(0, "run", f"tuned/{side}.resolved.yaml")
    bench.exits(0, "run", *tune[1:tune.index("--slo")], "--output", "plain")
    bench.check(bench.read("tuned", "start.resolved.yaml") == bench.read("plain", "scenario.resolved.yaml"),
                "the start is the set-up as it was")
    bench.write("observed.json", '{"mean_ttft_ms": 100000, "mean_tpot_ms": 10}')
    out, _ = bench.exits(0, *tune, "--observed", "observed.json")
    bench.check("Outside the model's 90 % band" in out, out[:600])
    bench.exits(2, *tune, "--observed", "none.json")


def test_compare_equal(bench):
    args = ["compare", "--model", "llama-3.1-8b", "--gpu", "h100,mi355x", "--isl", "1000", "--osl",
            "50", "--concurrency", "8"]
    out, _ = bench.exits(0, *args, "--equal", "cost=6000", "--prices", "per-gpu-2026-11")
    bench.check("3 x h100-sxm" in out and "4 x mi355x" in out, out[-500:])
    out, _ = bench.exits(0, *args, "--equal", "memory=600 GB")
    bench.check("7 x h100-sxm" in out and "2 x mi355x" in out, out[-500:])
    bench.exits(2, *args, "--equal", "cost")
    bench.exits(2, *args, "--equal", "beauty")


def test_every_plan_reads(bench):
    for name in sorted(os.listdir(os.path.join(bench.source, "plans"))):
        out, _ = bench.exits(0, "plan", name.removesuffix(".yaml"), "--print-plan")
        bench.check("candidates:" in out, name)


def test_the_worked_examples(bench):
    fast = ["--least-requests", "60", "--no-sensitivity", "--finalists", "1"]
    buyer = bench.json(0, "plan", "buyer_with_a_budget", *fast)
    for option in (buyer.get("chosen") or {}).get("options", []):
        bench.check(not option["possible"] or option["month"] <= 25000, "within the budget")
    what_if = bench.json(0, "plan", "hardware_what_if", "--least-requests", "60", "--finalists", "1")
    paths = [s["path"] for s in what_if.get("sensitivity", [])]
    bench.check("gpu.memory.bandwidth" in paths, f"{paths}")
    bench.check((what_if.get("chosen") or {}).get("trust") == "what-if", "a changed GPU is a what-if")
    tuned = bench.json(0, "tune", "sre_preemptions", "--rounds", "1", "--least-requests", "60")
    bench.check(tuned.get("base", {}).get("preemptions", 0) > 0, "the example preempts")
