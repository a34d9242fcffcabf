"""What the machine does to a run: processes killed, disks full, folders read-only. Outputs are whole or absent."""
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

LLAMA = ["--model", "llama-3.1-8b", "--gpu", "h100"]
SMALL = [*LLAMA, "--isl", "500", "--osl", "100", "--concurrency", "1,2,4,8,16,32"]
LONG = [*LLAMA, "--isl", "2000", "--osl", "5000", "--concurrency", "200,201,202,203", "--num-prompts", "60000",
        "--no-leap"]
RESULT = {"points.json", "points.csv", "scenarios.resolved.yaml"}


def start(bench, *args, **options):
    return subprocess.Popen([bench.binary, *args], cwd=bench.folder, env=bench.environment, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options)


def children_of(pid):
    """Living processes below `pid`, all generations."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except FileNotFoundError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
                    below = [int(word) for word in file.read().split()]
            except FileNotFoundError:
                continue
            found += below
            todo += below
    return found


def alive(pids):
    out = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rsplit(")", 1)[1].split()[0] != "Z":
                    out.append(pid)
        except FileNotFoundError:
            pass
    return out


def workers(process, at_least, bench):
    """Waits until the command has started its workers."""
    for _ in range(200 * bench.slowness):
        found = children_of(process.pid)
        if len(found) >= at_least:
            return found
        time.sleep(0.01)
    return children_of(process.pid)


def gone(pids, bench):
    for _ in range(200 * bench.slowness):
        if not alive(pids):
            return True
        time.sleep(0.02)
    return False


def test_a_killed_worker_is_an_error_with_its_point(bench):
    process = start(bench, "compare", *LONG, "--jobs", "2", "--output", "killed-worker", "--quiet")
    below = workers(process, 2, bench)
    bench.check(len(below) >= 2, f"no workers were started: {below}")
    os.kill(below[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=60 * bench.slowness)
    bench.check(process.returncode == 1, f"exit {process.returncode}: {err[-300:]}")
    bench.check(b"signal 9" in err or b"killed" in err.lower(), f"says what happened: {err[-300:]}")
    bench.check(not os.path.exists(bench.path("killed-worker")), "a result of half the points was written")
    bench.check(gone(below, bench), "workers were left behind")


def test_a_killed_command_takes_its_workers_along(bench):
    process = start(bench, "compare", *LONG, "--jobs", "2", "--output", "killed-driver", "--quiet")
    below = workers(process, 2, bench)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    bench.check(gone(below, bench), "workers outlived the command")
    left = [name for name in os.listdir(bench.folder) if name == "killed-driver"]
    bench.check(left == [], f"left behind: {left}")


def test_killed_at_any_moment_outputs_are_whole_or_absent(bench):
    began = time.monotonic()
    bench.exits(0, "compare", *SMALL, "--output", "undisturbed", "--quiet")
    whole = time.monotonic() - began
    chance = random.Random(1)
    wholes = 0
    for i in range(12):
        name = f"moment-{i}"
        process = start(bench, "compare", *SMALL, "--output", name, "--quiet")
        time.sleep(chance.uniform(0, 1.2 * whole))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=20)
        if os.path.isdir(bench.path(name)):
            wholes += 1
            bench.check(set(os.listdir(bench.path(name))) == RESULT, f"{name}: {os.listdir(bench.path(name))}")
            same = bench.read(name, "points.json") == bench.read("undisturbed", "points.json")
            bench.check(same, f"{name} differs from an undisturbed run")
        # The next run under that name is not in the way of what the killed one left.
        bench.exits(0, "compare", *SMALL, "--output", name, "--quiet")
        bench.check(bench.read(name, "points.json") == bench.read("undisturbed", "points.json"), f"{name} again")
    print(f"  12 kills, {wholes} after the result was there")


def test_terminate_and_hang_up_end_it_too(bench):
    for number in (signal.SIGTERM, signal.SIGHUP):
        process = start(bench, "compare", *LONG, "--jobs", "2", "--output", "ended", "--quiet")
        below = workers(process, 2, bench)
        process.send_signal(number)
        process.communicate(timeout=20 * bench.slowness)
        bench.check(process.returncode not in (0, None), f"signal {number}: exit {process.returncode}")
        bench.check(gone(below, bench), f"signal {number}: workers were left behind")
        bench.check(not os.path.exists(bench.path("ended")), f"signal {number}: a result was written")


def test_a_full_disk_leaves_the_earlier_result(bench):
    bench.exits(0, "run", *LLAMA, "--isl", "500", "--osl", "100", "--concurrency", "8", "--output", "full")
    before = {name: bench.read("full", name) for name in os.listdir(bench.path("full"))}

    def no_space():  # a file of more than 4 KiB cannot be written, as on a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run([bench.binary, "run", *LLAMA, "--isl", "500", "--osl", "100", "--concurrency", "8", "--seed",
                           "2", "--output", "full"], cwd=bench.folder, env=bench.environment, preexec_fn=no_space,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    bench.check(done.returncode == 1 and b"cannot write" in done.stderr, f"{done.returncode} {done.stderr[-300:]}")
    after = {name: bench.read("full", name) for name in os.listdir(bench.path("full"))}
    bench.check(before == after, "the earlier result was touched")
    left = [name for name in os.listdir(bench.folder) if "partial" in name or ".old" in name]
    bench.check(left == [], f"left behind: {left}")


def test_a_folder_that_cannot_be_written(bench):
    os.makedirs(bench.path("locked"))
    os.chmod(bench.path("locked"), 0o555)
    nobody = 65534

    def as_nobody():  # root may write anywhere
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(nobody)
            os.setuid(nobody)

    os.chmod(bench.folder, 0o755)
    try:
        subprocess.run([bench.binary, "catalog"], cwd=bench.folder, env=bench.environment, preexec_fn=as_nobody,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        print("  skipped: an ordinary user cannot reach this build")
        return
    for where in ("locked", "locked/out"):
        done = subprocess.run([bench.binary, "run", *LLAMA, "--isl", "500", "--osl", "100", "--concurrency", "8", "--output",
                               where], cwd=bench.folder, env=bench.environment, preexec_fn=as_nobody,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        err = done.stderr.decode()
        bench.check(done.returncode == 1 and where in err, f"{where}: exit {done.returncode}: {err[-300:]}")
        bench.check(os.listdir(bench.path("locked")) == [], os.listdir(bench.path("locked")))


def test_interrupted_at_any_moment_outputs_are_whole_or_absent(bench):
    began = time.monotonic()
    bench.exits(0, "compare", *SMALL, "--output", "calm", "--quiet")
    whole = time.monotonic() - began
    chance = random.Random(2)
    codes = {}
    for i in range(12):
        name = f"interrupt-{i}"
        process = start(bench, "compare", *SMALL, "--jobs", "2", "--output", name, "--quiet")
        time.sleep(chance.uniform(0, 1.1 * whole))
        below = children_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        process.communicate(timeout=20 * bench.slowness)
        codes[process.returncode] = codes.get(process.returncode, 0) + 1
        # Before main() has begun the default action ends it.
        bench.check(process.returncode in (0, 130, -signal.SIGINT), f"exit {process.returncode}")
        bench.check(gone(below, bench), "workers were left behind")
        if os.path.isdir(bench.path(name)):
            bench.check(set(os.listdir(bench.path(name))) == RESULT, f"{name}: {os.listdir(bench.path(name))}")
            bench.check(bench.read(name, "points.json") == bench.read("calm", "points.json"), f"{name} differs")
        else:
            bench.check(process.returncode != 0, f"{name}: exit 0 without a result")
    left = [name for name in os.listdir(bench.folder) if ".old-" in name]
    bench.check(left == [], f"left behind: {left}")
    print(f"  12 interrupts, exit codes {codes}")


def test_a_pipe_that_breaks_ends_it_quietly(bench):
    for kind in ("table", "json", "csv"):
        process = start(bench, "compare", *SMALL, "--format", kind, "--quiet")
        process.stdout.close()
        err = bench.said(process.stderr.read().decode())
        process.wait(timeout=60 * bench.slowness)
        bench.check(process.returncode in (0, 141, -signal.SIGPIPE) and not err, f"{kind}: {process.returncode} {err}")


CLOCKS = r"""
#include <dlfcn.h>
#include <time.h>
/* The day jumps by weeks at every look, back and forth; the monotonic clock only ahead (a machine that slept). */
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  static long looks;
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int rc = real(id, t);
  long n = __sync_add_and_fetch(&looks, 1);
  if (id == CLOCK_REALTIME) t->tv_sec += (n % 2 ? 1 : -1) * n % 53 * 604800;
  else t->tv_sec += n * 3600;
  return rc;
}
time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
"""


def test_clocks_that_jump_change_nothing(bench):
    if bench.slowness > 1 or shutil.which("cc") is None:
        return  # a sanitiser must be loaded first
    bench.write("clocks.c", CLOCKS)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", bench.path("clocks.so"), bench.path("clocks.c"), "-ldl"],
                   check=True)
    run = ["compare", *SMALL, "--jobs", "2", "--quiet"]
    bench.exits(0, *run, "--output", "steady")
    bench.environment["LD_PRELOAD"] = bench.path("clocks.so")
    try:
        bench.exits(0, *run, "--output", "jumping")
    finally:
        bench.environment.pop("LD_PRELOAD")
    for name in RESULT:
        bench.check(bench.read("steady", name) == bench.read("jumping", name), f"{name} differs when the clocks jump")


def test_memory_that_runs_out_is_said(bench):
    if bench.slowness > 1:
        return  # a sanitiser reserves more address space than any limit

    def little():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    done = subprocess.run([bench.binary, "run", *LLAMA, "--isl", "500", "--osl", "100", "--concurrency", "1000",
                           "--num-prompts", "4000000"], cwd=bench.folder, env=bench.environment, preexec_fn=little,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    bench.check(done.returncode == 1 and b"memory" in done.stderr, f"{done.returncode} {done.stderr[-300:]}")


def test_same_bytes_with_any_number_of_workers_and_any_build(bench):
    digest = {}
    for name, args in (("compare", ["compare", *SMALL]),
                       ("run", ["run", *LLAMA, "--isl", "900", "--osl", "200", "--request-rate", "20"])):
        for jobs in ("1", "2", "5"):
            bench.exits(0, *args, "--jobs", jobs, "--output", f"same-{name}-{jobs}", "--quiet")
        folders = [bench.path(f"same-{name}-{jobs}") for jobs in ("1", "2", "5")]
        texts = [b"".join(bench.read(folder, part) for part in sorted(os.listdir(folder))) for folder in folders]
        bench.check(len(set(texts)) == 1, f"{name}: differs with the number of workers")
        digest[name] = hashlib.sha256(texts[0]).hexdigest()
    # Release and sanitised builds share the source tree: whichever comes second compares.
    with open(bench.binary, "rb") as file:
        build = hashlib.sha256(file.read()).hexdigest()
    of_answers = [os.path.join("sim", "metrics", "version.hpp")] + sorted(
        os.path.join("hw_profiles", "fits", name)
        for name in os.listdir(os.path.join(bench.source, "hw_profiles", "fits")))
    key = hashlib.sha256(b"".join(bench.read(bench.source, name) for name in of_answers)).hexdigest()[:12]
    place = os.path.join(bench.source, "build", f"digests-{key}.json")
    try:
        with open(place, encoding="ascii") as file:
            others = json.load(file)
    except (OSError, ValueError):
        others = {}
    stamp = os.path.getmtime(bench.binary)
    for other, (when, values) in others.items():
        if other != build and abs(when - stamp) < 3600:  # older builds are of other sources
            bench.check(values == digest, f"another build gives other bytes: {values} {digest}")
            print("  compared with another build")
    others[build] = (stamp, digest)
    if os.path.isdir(os.path.dirname(place)):
        with open(place + ".partial", "w", encoding="ascii") as file:
            json.dump(others, file)
        os.replace(place + ".partial", place)
