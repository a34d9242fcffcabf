"""drive.py GROUP BINARY SOURCE: one group of command-line tests."""
import shutil
import sys

from harness import Bench

GROUPS = ("basics", "bad_input", "results", "faults", "planning", "cluster", "workloads", "limits", "hostile", "leaks",
          "soak")


def main():
    group, binary, source = sys.argv[1:4]
    if group not in GROUPS:
        raise SystemExit(f"unknown group {group}")
    bench = Bench(binary, source)
    try:
        module = __import__(group)
        tests = [getattr(module, name) for name in sorted(dir(module)) if name.startswith("test_")]
        for test in tests:
            print("-", test.__name__)
            test(bench)
        return bench.done()
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
