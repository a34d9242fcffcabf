"""Every command answers, has help, and says what is wrong with its name."""
import os
import signal
import subprocess
import time

COMMANDS = ["size", "run", "capacity", "plan", "tune", "import", "compare", "sweep", "explain", "platform", "catalog", "model", "new", "diff",
            "calibrate", "validate", "completion"]
LLAMA = ["--model", "llama-3.1-70b", "--gpu", "b200", "--weights", "bf16"]


def test_bare_command_shows_the_five_questions(bench):
    out, _ = bench.exits(0)
    bench.check(out.count("?\n") == 5, f"five questions, got {out.count('?')}")
    bench.check(out.count("    servegrid ") == 5, "each question has its command")


def test_the_commands_shown_work(bench):
    out, _ = bench.exits(0)
    import shlex
    for line in out.splitlines():
        if line.startswith("    servegrid ") and "compare --model" not in line:
            bench.exits(0, *shlex.split(line)[1:])


def test_help(bench):
    out, _ = bench.exits(0, "help")
    for name in COMMANDS:
        bench.check(f"  {name} " in out, f"help lists {name}")
        text, _ = bench.exits(0, name, "--help")
        bench.check("Examples:" in text and "Usage: servegrid " + name in text, f"help of {name}")
        other, _ = bench.exits(0, "help", name)
        bench.check(text == other, f"help {name} is {name} --help")
    start = time.monotonic()
    for _ in range(10):
        bench.run("--help")
    print(f"  --help takes {(time.monotonic() - start) * 100:.1f} ms")


def test_version(bench):
    out, _ = bench.exits(0, "--version")
    bench.check(out.startswith("servegrid 0."), out)


def test_names_near_by_are_suggested(bench):
    _, err = bench.exits(2, "compre")
    bench.check("did you mean 'servegrid compare'" in err, err)
    _, err = bench.exits(2, "run", "--concurency", "3")
    bench.check("did you mean '--concurrency'" in err, err)
    _, err = bench.exits(2, "catalog", "show", "mi355")
    bench.check("mi355x" in err, err)
    _, err = bench.exits(2, "size", "--model", "llama-3.1-70b", "--gpu", "b20")
    bench.check("b200" in err, err)


def test_catalog(bench):
    out, _ = bench.exits(0, "catalog")
    for word in ("b200", "mi355x", "llama-3.1-70b", "vllm"):
        bench.check(word in out, f"catalog lists {word}")
    listing = bench.json(0, "catalog")
    bench.check("b200" in listing.get("gpus", []), "catalog JSON")
    for kind in ("gpus", "models", "prices", "engines"):
        for name in listing.get(kind, []):
            bench.exits(0, "catalog", "show", name)
    shown = bench.json(0, "catalog", "show", "mi355x")
    bench.check("memory" in shown, "show as JSON")
    table, _ = bench.exits(0, "catalog", "compare", "b200", "mi355x")
    for word in ("288.00 GB", "bandwidth", "fp64", "GB-month", "TFLOPS-month"):
        bench.check(word in table, f"compare has {word}")
    what_if, _ = bench.exits(0, "catalog", "compare", "b200", "--set", "memory.bandwidth=8.8 TB/s")
    bench.check("8.8 TB/s" in what_if and "what-if" in what_if, "an override shows")
    bench.json(0, "catalog", "compare", "b200", "mi355x")
    names, _ = bench.exits(0, "catalog", "--names", "gpus")
    bench.check("b200" in names.split(), "bare names")


def test_size(bench):
    size = bench.json(0, "size", *LLAMA, "--context", "8192")
    out, _ = bench.exits(0, "size", "--model", "llama-3.1-70b", "--gpu", "h100", "--tp", "4", "--weights", "nvfp4")
    bench.check("nvfp4 (dequantised: bf16 math)" in out, "a format without units says how it runs")
    out, _ = bench.exits(0, "size", "--model", "llama-3.1-70b", "--gpu", "b200", "--weights", "nvfp4")
    bench.check("dequantised" not in out, "a native format does not")
    for gpu, said in (("a100-80g", True), ("h100", False)):
        kv = ["--model", "llama-3.1-8b", "--gpu", gpu, "--kv", "fp8"]
        for command in (["size", *kv], ["explain", *kv], ["run", *kv, "--isl", "500", "--osl", "20",
                                                           "--concurrency", "2"]):
            out, _ = bench.exits(0, *command)
            bench.check(("KV cache fp8 (dequantised: bf16 math)" in out) == said,
                        f"{command[0]}: an FP8 KV cache on {gpu}")
    for key in ("fits", "weights_bytes_per_gpu", "kv_bytes_per_token_per_gpu", "kv_capacity_tokens",
                "conversations", "gpus_needed", "ledger"):
        bench.check(key in size, f"size JSON has {key}")
    bench.check(size.get("fits") is True, "70B in BF16 fits on a B200")
    conversations = size.get("conversations", {})
    bench.check(conversations.get("whole") == int(conversations.get("exact", -1)), "whole is a floor")
    for line in size.get("ledger", []):
        bench.check(set(line) == {"name", "bytes", "source"} and line["source"], f"ledger line {line}")
    out, _ = bench.exits(0, "size", *LLAMA, "--context", "8K")
    bench.check("conversations of 8,192 tokens" in out, out)
    bench.exits(0, "size", *LLAMA, "--format", "csv")


def test_size_reproduces_the_articles(bench):
    for gpu, whole, exact in (("b200", 14, 14.90), ("mi355x", 55, 55.13)):
        size = bench.json(0, "size", "--model", "llama-3.1-70b", "--gpu", gpu, "--weights", "bf16",
                          "--rule", "weights_only", "--nominal", "--context", "8192")
        got = size.get("conversations", {})
        bench.check(got.get("whole") == whole and abs(got.get("exact", 0) - exact) < 0.006,
                    f"{gpu}: {got}, the article has {whole} ({exact})")


def test_size_that_does_not_fit(bench):
    size = bench.json(3, "size", "--model", "llama-3.1-70b", "--gpu", "h100", "--weights", "bf16")
    bench.check(size.get("fits") is False and size.get("gpus_needed", 0) >= 2, f"{size}")


def test_explain(bench):
    step = bench.json(0, "explain", *LLAMA, "--batch", "32", "--context", "8K")
    operators = step.get("operators", [])
    bench.check(len(operators) > 5, "operators")
    total = sum(op["seconds"] for op in operators)
    bench.check(abs(total - step.get("seconds", 0)) < 1e-9 + 1e-6 * total, "operators add up")
    bench.exits(0, "explain", *LLAMA, "--batch", "0", "--prefill", "2048")
    bench.exits(2, "explain", *LLAMA, "--batch", "0")


def test_new(bench):
    bench.exits(0, "new", "fresh.yaml")
    before = bench.read("fresh.yaml")
    _, err = bench.exits(2, "new", "fresh.yaml")
    bench.check("exists" in err and bench.read("fresh.yaml") == before, "new never overwrites")
    bench.exits(0, "run", "fresh.yaml")


def test_completion(bench):
    for shell in ("bash", "zsh"):
        out, _ = bench.exits(0, "completion", shell)
        bench.check("complete -F _servegrid servegrid" in out, shell)
    bench.exits(2, "completion", "fish")
    script, _ = bench.exits(0, "completion", "bash")
    done = subprocess.run(["bash", "-n"], input=script.encode(), check=False)
    bench.check(done.returncode == 0, "the bash script parses")


def test_a_closed_pipe_ends_quietly(bench):
    done = subprocess.run(f"'{bench.binary}' catalog show b200 | true; echo ${{PIPESTATUS[0]}}",
                          shell=True, executable="/bin/bash", env=bench.environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    bench.check(done.stderr == b"" and done.stdout.strip() == b"0", f"{done}")
    full = subprocess.run(f"'{bench.binary}' catalog > /dev/full", shell=True,
                          env=bench.environment, stderr=subprocess.PIPE, check=False)
    bench.check(full.returncode == 1 and b"cannot write" in full.stderr, f"{full}")


def test_an_interrupt_leaves_nothing(bench):
    process = subprocess.Popen(
        [bench.binary, "compare", *LLAMA, "--isl", "2000", "--osl", "5000", "--concurrency",
         "200,201,202,203,204,205,206,207", "--num-prompts", "60000", "--no-leap", "--output",
         "interrupted"], cwd=bench.folder, env=bench.environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    code = process.wait(timeout=20)
    bench.check(code == 130, f"interrupted: exit {code}")
    left = [name for name in os.listdir(bench.folder) if name.startswith("interrupted")]
    bench.check(left == [], f"left behind: {left}")
