"""Bad input: exit 2, a message that points, in under a second, and no output left behind."""
import os

GOOD = """description: test
model: llama-3.1-70b
weights: bf16
replica: {gpu: b200, tp: 1}
engine: {profile: vllm}
workload:
  closed: {concurrent: 2, prompt: 100 tokens, output: 10 tokens}
  requests: 4
seed: 1
"""


def bomb():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 9):
        lines.append(f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]")
    return "\n".join(lines) + "\n"


# name -> (text, has a place in the file)
FILES = {
    "wrong_unit": (GOOD.replace("100 tokens", "100 GB"), True),
    "bare_number": (GOOD.replace("100 tokens", "100"), True),
    "unknown_key": (GOOD.replace("workload:", "wrkload:"), True),
    "unknown_inner_key": (GOOD.replace("concurrent:", "concurent:"), True),
    "duplicate_key": (GOOD + "seed: 2\n", True),
    "tp_does_not_divide": (GOOD.replace("tp: 1", "tp: 3"), True),
    "tp_zero": (GOOD.replace("tp: 1", "tp: 0"), True),
    "unknown_format": (GOOD.replace("bf16", "bf17"), True),
    "ambiguous_format": (GOOD.replace("bf16", "fp4"), True),
    "negative": (GOOD.replace("concurrent: 2", "concurrent: -2"), True),
    "nan": (GOOD.replace("10 tokens", ".nan tokens"), True),
    "infinite": (GOOD.replace("10 tokens", "inf tokens"), True),
    "empty": ("", False),
    "only_a_comment": ("# nothing\n", False),
    "not_a_map": ("- a\n- b\n", True),
    "not_yaml": ("model: [llama\nseed: {", True),
    "alias_bomb": (bomb(), False),
    "deep": ("a: " + "[" * 5000 + "]" * 5000 + "\n", False),
    "cyclic": (GOOD + "extends: ./cyclic.yaml\n", False),
    "two_workloads": (GOOD.replace("  requests", "  open: {rate: 1 /s, prompt: 9 tokens, output: 9 tokens}\n  requests"), True),
    "no_workload": (GOOD[:GOOD.index("workload")], False),
    "unknown_model": (GOOD.replace("llama-3.1-70b", "lama-3.1-70b"), True),
    "unknown_gpu": (GOOD.replace("b200", "b2000"), True),
    "unknown_engine": (GOOD.replace("vllm", "vlm"), True),
    "unknown_knob": (GOOD.replace("profile: vllm", "profile: vllm, max_num_seq: 4"), True),
    "octal_seed": (GOOD.replace("seed: 1", "seed: 010"), True),
    "binary": (b"\x00\x01\x02\xff" * 100, False),
    "sweep_of_nothing": (GOOD + "sweep:\n  replica.gpu: []\n", False),
}

COMMANDS = {
    "no arguments": ["run"],
    "no gpu": ["run", "--model", "llama-3.1-70b"],
    "no lengths": ["run", "--model", "llama-3.1-70b", "--gpu", "b200", "--concurrency", "2"],
    "two loads": ["run", "--model", "llama-3.1-70b", "--gpu", "b200", "--isl", "9", "--osl", "9",
                  "--concurrency", "2", "--turns", "2", "--request-rate", "1"],
    "missing file": ["run", "no-such-file.yaml"],
    "negative tp": ["size", "--model", "llama-3.1-70b", "--gpu", "b200", "--tp", "-1"],
    "unknown rule": ["size", "--model", "llama-3.1-70b", "--gpu", "b200", "--rule", "guess"],
    "unknown format": ["size", "--model", "llama-3.1-70b", "--gpu", "b200", "--format", "xml"],
    "set without value": ["run", "good.yaml", "--set", "seed"],
    "set unknown path": ["run", "good.yaml", "--set", "replica.tpp=2"],
    "set without a unit": ["run", "good.yaml", "--set", "gpu.memory.bandwidth=8"],
    "jobs zero": ["compare", "good.yaml", "--jobs", "0"],
    "seed as text": ["run", "good.yaml", "--seed", "one"],
    "option without value": ["run", "good.yaml", "--seed"],
    "option given twice": ["run", "good.yaml", "--seed", "1", "--seed", "2"],
    "stray word": ["run", "good.yaml", "other.yaml"],
    "short option": ["run", "good.yaml", "-x"],
    "context without tokens": ["size", "--model", "llama-3.1-70b", "--gpu", "b200", "--context", "0"],
    "diff of one": ["diff", "a"],
    "diff of nothing": ["diff", "a", "b"],
    "import of nothing": ["model", "import", "no-such.json"],
    "model verb": ["model", "export", "x"],
    "time without unit": ["run", "good.yaml", "--slo-tpot", "50"],
    "sweep without axes": ["sweep", "good.yaml"],
    "catalog verb": ["catalog", "shw", "b200"],
    "catalog kind": ["catalog", "--names", "gpu"],
    "requests that exhaust memory": ["run", "good.yaml", "--num-prompts", "1000000000"],
    "users that exhaust memory": ["run", "--model", "llama-3.1-70b", "--gpu", "b200", "--isl", "9", "--osl", "9",
                                  "--concurrency", "10000000"],
    "replicas that exhaust memory": ["run", "good.yaml", "--replicas", "900000"],
    "points that exhaust memory": ["compare", "good.yaml", "--num-prompts", "4,1000000000"],
    "no such measured file": ["validate", "--measured", "no-such.csv"],
    "no such requests": ["validate", "--requests", "no-such.csv", "--scenario", "good.yaml"],
    "requests without a deployment": ["validate", "--requests", "no-such.csv"],
    "a deployment without requests": ["validate", "--measured", "no-such.csv", "--scenario", "good.yaml"],
    "no such kernels": ["calibrate", "--kernels", "no-such-folder"],
}


def refuse(bench, what, args, place=""):
    before = sorted(os.listdir(bench.folder))
    start = bench.processor_time()
    output = ["--output", "bad-output"] if args[0] in ("run", "compare", "sweep") else []
    out, err = bench.exits(2, *args, *output)
    took = bench.processor_time() - start
    bench.check(out == "", f"{what}: nothing on stdout, got {out[:100]!r}")
    bench.check(len(err) > 20, f"{what}: a message")
    bench.check(place in err, f"{what}: the message names {place!r}: {err[:300]}")
    bench.check(took < bench.slowness, f"{what}: took {took:.2f} s")
    bench.check(sorted(os.listdir(bench.folder)) == before, f"{what}: leaves no output")


def test_files(bench):
    for name, (text, placed) in FILES.items():
        file = bench.write(name + ".yaml", text)
        refuse(bench, name, ["run", file], file + ":" if placed else "")


def test_a_huge_file(bench):
    with open(bench.path("huge.yaml"), "wb") as out:
        out.truncate(100 << 20)
    refuse(bench, "huge", ["run", "huge.yaml"])


def test_the_good_file_is_good(bench):
    bench.write("good.yaml", GOOD)
    bench.exits(0, "run", "good.yaml")


def test_the_place_is_line_and_column(bench):
    file = bench.write("place.yaml", GOOD.replace("tp: 1", "tpp: 1"))
    _, err = bench.exits(2, "run", file)
    bench.check("place.yaml:4:" in err and "^" in err and "tp" in err, err)


def test_commands(bench):
    bench.write("good.yaml", GOOD)
    for what, args in COMMANDS.items():
        refuse(bench, what, args)


def test_engine_that_the_gpu_cannot_run(bench):
    bench.write("engine.yaml", GOOD.replace("b200", "mi355x").replace("vllm", "trtllm"))
    refuse(bench, "engine", ["run", "engine.yaml"], "engine.yaml:")
    err = bench.run("run", "engine.yaml")[2]
    bench.check("does not run on" in err, err)


def test_a_folder_of_someone_else_is_not_overwritten(bench):
    bench.write("good.yaml", GOOD)
    os.makedirs(bench.path("photos"))
    bench.write("photos/cat.jpg", "meow")
    _, err = bench.exits(2, "run", "good.yaml", "--output", "photos")
    bench.check("cat.jpg" in err and bench.read("photos", "cat.jpg") == b"meow", err)
    bench.write("plain-file", "x")
    bench.exits(2, "run", "good.yaml", "--output", "plain-file")
    bench.check(bench.read("plain-file") == b"x", "a file is not overwritten")
