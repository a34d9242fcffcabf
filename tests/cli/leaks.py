"""What each command leaves behind at its exit, where the build has a leak checker; the other groups run without it.

The checker stops the process from a thread of its own, and about one time in ten thousand that thread dies on
thread-local memory of the library that was loaded on demand. It then ends the process with an exit code of its own,
whatever the command's was: such a run says nothing, and is repeated in a folder of its own."""
import os

LLAMA = ["--model", "llama-3.1-8b", "--gpu", "h100", "--isl", "500", "--osl", "50"]
LOAD = [*LLAMA, "--concurrency", "4", "--num-prompts", "40"]
TRIES = 4


def scenario(name):
    return os.path.join("scenarios", name + ".yaml")


def commands(bench):
    yield 0, ["--help"]
    yield 0, ["size", "--model", "llama-3.1-70b", "--gpu", "b200"]
    yield 0, ["explain", *LLAMA[:4]]
    yield 0, ["run", *LOAD, "--output", "OUT", "--trace", "OUT.json"]
    yield 0, ["compare", *LLAMA, "--concurrency", "2,4", "--num-prompts", "20", "--output", "OUT"]
    for name in ("disaggregated", "faults", "autoscale", "routers", "deepseek_mtp", "load_mix", "load_trace_csv"):
        yield 0, ["run", os.path.join(bench.source, scenario(name)), "--output", "OUT"]
    yield 0, ["capacity", *LOAD, "--slo-tpot", "20 ms"]
    yield 0, ["platform", "show", *LLAMA[:4]]
    yield 2, ["run", *LOAD, "--set", "workload.requests=-1"]
    yield 2, ["run", "absent.yaml"]
    bench.write("broken.yaml", "model: [llama\n")
    yield 2, ["run", "broken.yaml"]


def test_no_command_leaks(bench):
    bench.environment.pop("ASAN_OPTIONS", None)
    for number, (code, args) in enumerate(commands(bench)):
        for attempt in range(TRIES):
            out = f"out-{number}-{attempt}"
            got, said, err = bench.run(*[a.replace("OUT", out) for a in args])
            if "LeakSanitizer has encountered a fatal error" not in err:
                break
        bench.check("detected memory leaks" not in err, f"{' '.join(args)}: {err[-2000:]}")
        bench.check(got == code, f"{' '.join(args)}: exit {got}, expected {code}\n{said[-300:]}{err[-600:]}")
