"""Files made to hurt: for every reader a clear error (or an answer) within 2 s of processor time and 500 MB."""
import os
import shutil
import subprocess
import threading

import bad_input

SECONDS, MEGABYTES = 2, 500
DEEP = 1_000_000

SCENARIO = bad_input.GOOD
PLAN = "model: llama-3.1-70b\ngpus: [b200]\npreset: chat\nusers: 100\n"

# Of a reader: the file, and the command that reads it. {} is the file.
READERS = {
    "scenario": ("hostile.yaml", ["run", "{}"]),
    "model": ("hostile.yaml", ["size", "--model", "./{}", "--gpu", "b200"]),
    "GPU profile": ("hostile.yaml", ["size", "--model", "llama-3.1-8b", "--gpu", "./{}"]),
    "engine": ("hostile.yaml", ["size", "--model", "llama-3.1-8b", "--gpu", "b200", "--engine", "./{}"]),
    "price sheet": ("hostile.yaml", ["compare", "--model", "llama-3.1-8b", "--gpu", "b200", "--isl", "9", "--osl", "9",
                                     "--concurrency", "1", "--prices", "./{}"]),
    "fabric": ("hostile.yaml", ["platform", "show", "--model", "llama-3.1-8b", "--gpu", "b200", "--set",
                                "network.fabric=./{}"]),
    "plan": ("hostile.yaml", ["plan", "{}"]),
    "Hugging Face config": ("hostile.json", ["model", "import", "{}"]),
    "benchmark result": ("hostile.json", ["calibrate", "--bench", "{}", "--scenario", "good.yaml"]),
    "kernel table": ("kernels/b200_sxm/vllm-0.24.0-gemm_perf.csv", ["calibrate", "--kernels", "kernels", "--gpu", "b200",
                                                                     "--output", "fits"]),
    "measured runs": ("hostile.csv", ["validate", "--measured", "{}"]),
    "launch log": ("hostile.log", ["import", "{}", "--gpu", "b200"]),
    "trace": ("hostile.csv", ["workload", "describe", "{}"]),
    "trace in JSON": ("hostile.jsonl", ["workload", "describe", "{}"]),
    "results": ("earlier/summary.json", ["diff", "earlier", "earlier"]),
}

TEXTS = {
    "nothing": b"",
    "one NUL": b"\x00",
    "a NUL in the middle": b"model: llama\x00-3.1-8b\n",
    "invalid UTF-8": b"model: \xff\xfe\xc0\xaf\nname: \xed\xa0\x80\n",
    "deep lists": b"[" * DEEP,
    "deep lists that close": b"[" * DEEP + b"]" * DEEP,
    "deep maps": b'{"a":' * DEEP,
    "deep indents": b"\n".join(b" " * i + b"a:" for i in range(3000)),
    "alias bomb": bad_input.bomb().encode(),
    "one long line": b"a" * (64 << 20),
    "many lines": b"a: 1\n" * 2_000_000,
    "many commas": b"," * (4 << 20),
    "many keys": b"".join(b"k%d: 1\n" % i for i in range(200_000)),
    "quotes": b'"' * 1_000_001,
    "anchors": b"".join(b"- &a%d x\n" % i for i in range(100_000)),
    "numbers out of range": b'{"num_hidden_layers": 1e308, "hidden_size": -1, "completed": 9223372036854775808}',
    "a number of a million digits": b'{"hidden_size": ' + b"9" * DEEP + b"}",
}

NUMBERS = {
    "1e308 GPUs": ("tp: 1", "tp: 1e308"),
    "1e308 replicas": ("seed: 1", "seed: 1\nreplicas: 1e308"),
    "a negative number of replicas": ("seed: 1", "seed: 1\nreplicas: -4"),
    "negative tokens": ("100 tokens", "-100 tokens"),
    "2^63 tokens": ("100 tokens", "9223372036854775808 tokens"),
    "2^63 tokens of output": ("10 tokens", "9223372036854775808 tokens"),
    "1e308 tokens": ("100 tokens", "1e308 tokens"),
    "2^63 requests": ("requests: 4", "requests: 9223372036854775808"),
    "2^63 - 1 requests": ("requests: 4", "requests: 9223372036854775807"),
    "2^64 as a seed": ("seed: 1", "seed: 18446744073709551616"),
    "NaN tokens": ("100 tokens", ".nan tokens"),
    "NaN of anything": ("100 tokens", "nan"),
    "infinite tokens": ("100 tokens", ".inf tokens"),
    "a fraction of a request": ("requests: 4", "requests: 0.5"),
    "1e308 users": ("concurrent: 2", "concurrent: 1e308"),
    "a rate of 1e308": ("closed: {concurrent: 2,", "open: {rate: 1e308 /s,"),
    "a rate of 0": ("closed: {concurrent: 2,", "open: {rate: 0 /s,"),
    "a think time of 1e308": ("  closed:", "  think_time: 1e308 s\n  closed:"),
    "a model above the folder": ("llama-3.1-70b", "../../../../../../etc/passwd"),
    "a model at a place": ("llama-3.1-70b", "/etc/passwd"),
    "a device as a model": ("llama-3.1-70b", "/dev/zero"),
    "a folder as a model": ("llama-3.1-70b", "/tmp/"),
}


def measure(bench, args):
    """(exit code, stdout, stderr, processor time [s], peak memory [MB]) of one command."""
    with open(bench.path("out"), "wb") as out, open(bench.path("err"), "wb") as err:
        process = subprocess.Popen([bench.binary, *args], cwd=bench.folder, env=bench.environment,
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        stop = threading.Timer(10 * SECONDS * bench.slowness, process.kill)
        stop.start()
        _, status, used = os.wait4(process.pid, 0)
        stop.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, bench.read("out"), bench.read("err"), used.ru_utime + used.ru_stime,
            used.ru_maxrss / 1024)


def survive(bench, what, args, codes=(2,)):
    code, out, err, seconds, megabytes = measure(bench, args)
    bench.check(code in codes, f"{what}: exit {code}: {err[-300:]}")
    bench.check(code == 0 or (err.startswith(b"servegrid: ") and len(err) > 20), f"{what}: a message: {err[:200]}")
    bench.check(len(err) < 4000, f"{what}: a message of {len(err)} bytes")
    bench.check(b"\x1b" not in err + out and b"\x00" not in err, f"{what}: raw control characters are printed")
    bench.check(seconds < SECONDS * bench.slowness, f"{what}: {seconds:.2f} s")
    if bench.slowness == 1:
        bench.check(megabytes < MEGABYTES, f"{what}: {megabytes:.0f} MB")
    return err, seconds, megabytes


def test_every_reader_survives_every_text(bench):
    slowest, largest, count = (0, ""), (0, ""), 0
    bench.write("good.yaml", SCENARIO)
    for reader, (name, args) in READERS.items():
        os.makedirs(os.path.dirname(bench.path(name)) or bench.folder, exist_ok=True)
        for what, text in TEXTS.items():
            bench.write(name, text)
            words = [word.replace("{}", name) for word in args]
            # An empty log or table may be one that says nothing.
            err, seconds, megabytes = survive(bench, f"{reader}: {what}", words, (0, 2, 3))
            bench.check(err == b"" or os.path.basename(name).encode() in err, f"{reader}: {what}: names the file: {err[:300]}")
            slowest, largest = max(slowest, (seconds, f"{reader}: {what}")), max(largest, (megabytes, f"{reader}: {what}"))
            count += 1
        with open(bench.path(name), "wb") as file:
            file.truncate(1 << 30)  # a gigabyte of nothing, on one line
        survive(bench, f"{reader}: a gigabyte", [word.replace("{}", name) for word in args], (0, 2, 3))
        os.remove(bench.path(name))
    print(f"  {count} files; slowest {slowest[0]:.2f} s ({slowest[1]}), largest {largest[0]:.0f} MB ({largest[1]})")


def test_numbers_and_names_in_a_scenario(bench):
    for what, (old, new) in NUMBERS.items():
        bench.check(old in SCENARIO, f"{what}: the scenario has no {old!r}")
        bench.write("number.yaml", SCENARIO.replace(old, new))
        err, _, _ = survive(bench, what, ["run", "number.yaml"])
        bench.check(b"root:" not in err, f"{what}: the file's content is printed")


def test_includes_that_never_end(bench):
    for i in range(3):
        bench.write(f"circle{i}.yaml", f"extends: ./circle{(i + 1) % 3}.yaml\n")
    for i in range(40):
        bench.write(f"chain{i}.yaml", f"extends: ./chain{i + 1}.yaml\n")
    for name, words in (("circle0", b"extends itself"), ("chain0", b"extends more than")):
        for args in (["run", f"{name}.yaml"], ["size", "--model", f"./{name}.yaml", "--gpu", "b200"],
                     ["size", "--model", "llama-3.1-8b", "--gpu", f"./{name}.yaml"]):
            err, _, _ = survive(bench, " ".join(args), args)
            if args[0] == "size":
                bench.check(words in err, err)
    os.symlink("loop.yaml", bench.path("loop.yaml"))
    survive(bench, "a link to itself", ["run", "loop.yaml"])


def test_names_with_escapes(bench):
    names = ("\x1b[2J\x1b[31mred", "<script>alert(1)</script>", "a\rb", "\u202eevil", "x" * 100_000)
    for name in names:
        for args in (["run", name], ["size", "--model", name, "--gpu", "b200"], ["catalog", "show", name], [name],
                     ["run", "--model", "llama-3.1-8b", "--gpu", name, "--isl", "9", "--osl", "9", "--concurrency", "1"],
                     ["size", "--model", "llama-3.1-8b", "--gpu", "b200", "--set", f"{name}=1"]):
            survive(bench, repr(args)[:60], args)
    text = SCENARIO.replace("description: test", 'description: "\\e[31m<script>alert(1)</script>"')
    bench.write("escape.yaml", text)
    survive(bench, "a description with escapes", ["run", "escape.yaml", "--output", "escaped"], (0, 2))
    bench.write("\x1b[31m.yaml", SCENARIO.replace("seed: 1", "sede: 1"))
    survive(bench, "a file name with escapes", ["run", "\x1b[31m.yaml"])
    shutil.rmtree(bench.path("escaped"), ignore_errors=True)


def test_nothing_is_written_outside(bench):
    outside = bench.path("outside")
    os.makedirs(outside)
    os.makedirs(bench.path("inside"))
    bench.write("good.yaml", SCENARIO.replace("description: test", "description: ../outside/x"))
    os.symlink(outside, bench.path("inside/link"))
    bench.exits(0, "run", "good.yaml", "--output", "inside/result")
    bench.exits(2, "run", "good.yaml", "--output", "inside")
    bench.check(os.listdir(outside) == [], os.listdir(outside))
    left = sorted(os.listdir(bench.path("inside")))
    bench.check(left == ["link", "result"], left)
