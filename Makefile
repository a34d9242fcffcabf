# Two commands do everything on a fresh Debian or Ubuntu machine:
#   make study   installs what is missing, builds, runs the headline study   (about 5 minutes on two cores)
#   make test    the same, with every test
.DEFAULT_GOAL := help
SHELL := /bin/bash
BUILD := build/release
SERVEGRID := $(BUILD)/bin/servegrid

PACKAGES := g++ cmake ninja-build pkg-config libsimgrid-dev libeigen3-dev libboost-dev \
            libboost-program-options-dev libyaml-dev nlohmann-json3-dev libfmt-dev
PYTHON_PACKAGES := python3 python3-dev python3-venv
TEST_PACKAGES := $(PACKAGES) $(PYTHON_PACKAGES) catch2
DEV_PACKAGES := clang clang-format clang-tidy

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ; @tools/install-packages $(PACKAGES) $(PYTHON_PACKAGES)
test-deps: ; @tools/install-packages $(TEST_PACKAGES)
bench-deps: ; @tools/install-packages $(PACKAGES) libbenchmark-dev
dev-deps: ; @tools/install-packages $(TEST_PACKAGES) $(DEV_PACKAGES)

build: deps ## the command, at build/release/bin/servegrid
	@cmake --preset release >/dev/null
	@cmake --build --preset release

# What the Python package's tests need, from PyPI, in an environment of its own.
PYTHON ?= python3
VENV := build/venv
$(VENV)/report: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "ServeGrid: needs Python 3.10 or newer" >&2; exit 1; }
	@echo "ServeGrid: installs Python packages from PyPI into $(VENV) (about a minute)."
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check pybind11 $$($(VENV)/bin/python tools/requirements.py report)
	@touch $@
$(VENV)/ready: $(VENV)/report
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check scikit-build-core \
	  $$($(VENV)/bin/python tools/requirements.py all test)
	@touch $@
$(VENV)/browser: $(VENV)/ready
	@tools/install-browser $(VENV)/bin/python
	@touch $@

study: deps $(VENV)/report ## install what is missing, build, run the headline study, write its report
	@cmake --preset release -DSERVEGRID_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python >/dev/null
	@cmake --build --preset release
	$(SERVEGRID) compare llama70b_8k_fresh --output results/llama70b_8k_fresh
	$(SERVEGRID) compare llama70b_8k_conversations --output results/llama70b_8k_conversations
	$(SERVEGRID) report results/llama70b_8k_conversations

python-deps: ; @tools/install-packages $(PACKAGES) $(PYTHON_PACKAGES)
python: python-deps $(VENV)/ready ## the Python package with everything optional, installed in build/venv
	@$(VENV)/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation '.[all]'
	@$(VENV)/bin/python -c 'import servegrid; print("servegrid", servegrid.__version__, "in $(VENV)")'

test: test-deps $(VENV)/browser ## install what is missing, build, run every test
	@cmake --preset release -DSERVEGRID_TESTS=ON -DSERVEGRID_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python >/dev/null
	@cmake --build --preset release
	@ctest --test-dir $(BUILD) --output-on-failure

bench: bench-deps ## how fast: whole runs inside SimGrid and the parts on their own; writes build/release/bench.json
	@cmake --preset release -DSERVEGRID_BENCHMARKS=ON >/dev/null
	@cmake --build --preset release --target bench_runs bench_parts
	@$(BUILD)/bench/bench_runs --output $(BUILD)/bench.json
	@$(BUILD)/bench/bench_parts --benchmark_min_time=0.5

soak: test-deps ## random scenarios with every invariant on, a week of a fleet, days of a closed loop (half an hour)
	@cmake --preset release -DSERVEGRID_TESTS=ON >/dev/null
	@cmake --build --preset release --target test_engine test_cluster servegrid_cli servegrid_simgrid
	@$(BUILD)/tests/engine/test_engine "[soak]"
	@SERVEGRID_CHECK=1 $(BUILD)/tests/cluster/test_cluster "[soak]"
	@SERVEGRID_SOAK=1 python3 tests/cli/drive.py soak $(SERVEGRID) $(CURDIR)

asan: test-deps ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan
	@ctest --test-dir build/asan --output-on-failure

tsan: test-deps ## what has threads (calibrate, validate) and what forks, under ThreadSanitizer
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan --target test_calibrate test_validate test_jobs
	@ctest --test-dir build/tsan --output-on-failure -R '^(calibrate|validate|jobs)$$'

FORMATTED = $(shell git ls-files '*.cpp' '*.hpp')
format: dev-deps ## rewrite the sources with clang-format
	clang-format -i $(FORMATTED)
check-format: dev-deps ## fail when clang-format would change something
	@clang-format --dry-run -Werror $(FORMATTED)

tidy: dev-deps ## clang-tidy over the sources
	@cmake --preset dev >/dev/null
	@run-clang-tidy -quiet -p build/dev '$(CURDIR)/sim/.*'

fuzz: dev-deps ## each fuzz target for FUZZ_SECONDS (default 60)
	@cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSERVEGRID_FUZZ=ON \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO='-O1 -g1' \
	  -DCMAKE_CXX_FLAGS='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' >/dev/null
	@cmake --build build/fuzz --target fuzz_targets
	@tools/run-fuzz build/fuzz $${FUZZ_SECONDS:-60}

clean: ## remove build/ and results/
	rm -rf build results

.PHONY: help deps test-deps bench-deps dev-deps python-deps python build study test bench soak asan tsan format check-format tidy fuzz clean
