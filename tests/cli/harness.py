"""Runs the command in a scratch folder and counts what is not as expected."""
import json
import os
import re
import resource
import subprocess
import tempfile


class Bench:
    def __init__(self, binary, source):
        self.binary = os.path.abspath(binary)
        self.source = source
        with open(self.binary, "rb") as file:
            # A sanitised build may take longer where a test limits the time.
            self.slowness = 5 if b"__asan_init" in file.read() else 1
        self.folder = tempfile.mkdtemp(prefix="servegrid-cli-")
        self.failures = []
        self.checks = 0
        self.environment = dict(os.environ, SERVEGRID_DATA=source, LC_ALL="C", SERVEGRID_CHECK="1")
        if self.slowness > 1:
            self.environment["ASAN_OPTIONS"] = "detect_leaks=0"  # leaks.py looks for them, and says why only there

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        return name

    def read(self, *parts):
        with open(os.path.join(self.folder, *parts), "rb") as file:
            return file.read()

    def run(self, *args, timeout=120):
        """(exit code, stdout, stderr)."""
        done = subprocess.run([self.binary, *args], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout)
        return done.returncode, done.stdout.decode(), self.said(done.stderr.decode())

    def said(self, err):
        """Messages of the command, without those of a sanitizer."""
        if self.slowness == 1:
            return err
        # SimGrid's actors have stacks of their own; the sanitizer says so when an exception leaves one.
        return re.sub(r"^==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*\n"
                      r"False positive error reports may follow\n"
                      r"For details see .*\n", "", err, flags=re.MULTILINE)

    @staticmethod
    def processor_time():
        """Of all commands run so far [s]: limits are ours, not those of what else runs on the machine."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def check(self, condition, what):
        self.checks += 1
        if not condition:
            self.failures.append(what)
            print("FAILED:", what)

    def exits(self, code, *args, **options):
        """Runs, requires the exit code, and hands back stdout and stderr."""
        got, out, err = self.run(*args, **options)
        self.check(got == code, f"{' '.join(args)}: exit {got}, expected {code}\n{out[-300:]}{err[-600:]}")
        self.check("terminate called" not in err and "Segmentation" not in err,
                   f"{' '.join(args)}: crash text on stderr")
        if code != 0 and err:
            self.check(err.startswith("servegrid: "), f"{' '.join(args)}: stderr starts {err[:60]!r}")
        return out, err

    def json(self, code, *args):
        out, err = self.exits(code, *args, "--format", "json")
        try:
            return json.loads(out)
        except ValueError as problem:
            self.check(False, f"{' '.join(args)}: stdout is not one JSON document ({problem}): {out[:200]}")
            return {}

    def done(self):
        print(f"{self.checks} checks, {len(self.failures)} failed")
        return 1 if self.failures or self.checks == 0 else 0
