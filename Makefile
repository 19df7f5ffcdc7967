# `make` lists the targets. Everything runs in .venv, which `make setup` builds with nothing but Python and the index.
PYTHON ?= python3
BIN    := .venv/bin
SOURCE := src tests benchmarks tools examples
NATIVE := $(wildcard src/unnaive/*/*.cpp src/unnaive/*/*.h src/unnaive/*/*/*.cpp src/unnaive/*/*/*.h)

# the benchmark collections, where a checkout has them beside it; tests and benchmarks skip with a reason without them
ifneq ($(wildcard ../shared/data),)
export UNNAIVE_DATA ?= $(abspath ../shared/data)
endif

# compiled files are kept, whatever the shell says: without them every command and every test file is compiled anew
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup pins oldest demo quick test spark spark-failures lint format bench docs reproductions statistics sanitize attack free-threaded cross hosts wheel container clean

help:      ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/ready  ## build .venv with the package (editable), its native kernel and the developer tools

# Two steps: what the package needs, which is all that `make demo` waits for, then the extras and the developers' tools. All versions are
# pinned with hashes in requirements/, and the package is built with them; pip fetches while the compiler works.
.venv/package-ready: pyproject.toml CMakeLists.txt requirements/build.txt requirements/package.txt $(NATIVE)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "unnaive needs Python 3.11 or newer; this is $$($(PYTHON) --version). Try: make PYTHON=python3.12"; exit 1; }
	[ -x $(BIN)/pip ] || $(PYTHON) -m venv .venv
	$(BIN)/python tools/install_pinned.py requirements/build.txt
	$(BIN)/python tools/install_pinned.py requirements/package.txt & fetching=$$!; \
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --config-settings=build-dir=build/editable --editable .; \
	built=$$?; wait $$fetching && exit $$built
	@touch $@

.venv/ready: requirements/all.txt requirements/dev.txt | .venv/package-ready
	$(BIN)/python tools/install_pinned.py $^
	@touch $@

pins:      ## update requirements/: the newest allowed version of every dependency, with hashes
	$(PYTHON) tools/pins.py

oldest:    ## the quick tests with the oldest versions that pyproject.toml allows, in an environment of its own
	$(PYTHON) tools/oldest.py

demo: .venv/package-ready  ## the whole tour on the built-in corpus: seconds, and about a minute the first time
	@$(BIN)/unnaive demo

quick: setup  ## the tests to rerun all day, under a minute
	$(BIN)/pytest -q -n 2 -m 'not slow' --hypothesis-profile=quick

test: lint quick docs  ## everything: lint, the quick tests, the site, then all other tests (the papers with the collections)
	$(BIN)/pytest -q -n 2 --durations=15 -m 'slow or hypothesis' --ignore=tests/scaleout/test_spark_odd_inputs.py

spark: setup  ## every odd input on Spark as locally (needs Java): counted in build/spark-odd-inputs.txt
	@command -v java >/dev/null || { echo "Spark needs Java 17 or newer; install it, then run make spark again"; exit 1; }
	@$(BIN)/python -c 'import pyspark' 2>/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check 'pyspark>=4.1'
	$(BIN)/pytest -q tests/scaleout/test_spark_odd_inputs.py
	@cat build/spark-odd-inputs.txt

spark-failures: setup  ## executors that are killed, skewed and empty partitions (needs Java): build/spark-failures.txt
	$(BIN)/python tests/scaleout/spark_failures.py --seconds 180 2>build/spark-failures.log >build/spark-failures.txt || { tail -20 build/spark-failures.log; exit 1; }
	@cat build/spark-failures.txt

lint: setup  ## ruff, mypy strict, import layers, clang-format, licences, names with two meanings, spelling
	$(BIN)/ruff check $(SOURCE)
	$(BIN)/ruff format --check $(SOURCE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(NATIVE)
	$(BIN)/python tools/licences.py
	$(BIN)/python tools/name_meanings.py
	$(BIN)/codespell src tests benchmarks tools docs README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md

format: setup  ## put every file in the one format
	$(BIN)/ruff check --fix $(SOURCE)
	$(BIN)/ruff format $(SOURCE)
	$(BIN)/clang-format -i $(NATIVE)

bench: setup  ## every benchmark, ratios against the peers (needs the collections; see benchmarks/README.md)
	$(BIN)/pip install --quiet --disable-pip-version-check '.[bench]'
	$(BIN)/python benchmarks/run.py

docs: setup  ## the documentation site, in build/site; warnings are errors
	$(BIN)/python tools/classifier_signature.py && $(BIN)/python tools/command_reference.py && $(BIN)/python tools/performance.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	$(BIN)/python tools/demo_page.py
	@echo "open build/site/index.html; for its search: python3 -m http.server --directory build/site"

reproductions: setup  ## docs/reproductions.md from the figures beside it (RUN="all" or papers measures them again, for hours)
	$(BIN)/python tools/reproductions.py $(if $(RUN),--run $(RUN))

statistics: setup  ## docs/statistics.md: every promise simulated (DRAWS=200: up to so many draws, HOURS=2: for so long)
	OMP_NUM_THREADS=1 $(BIN)/python tools/statistics_suite.py $(if $(DRAWS),--draws $(DRAWS)) $(if $(HOURS),--hours $(HOURS))

sanitize: setup  ## native modules under the address, undefined-behaviour and thread sanitizers; models under malloc's checks
	bash tools/sanitize.sh

attack: setup  ## corrupted files, hostile texts, kill -9 and races, for minutes; one table, nothing crashed or lost
	$(BIN)/python tools/attack.py

free-threaded:  ## the native tests on a Python without a GIL, in its own environment (PYTHON=python3.13t)
	bash tools/free_threaded.sh $(PYTHON)

cross: setup  ## native modules for ARM, musl, macOS and Windows, by the compiler of ziglang (RUN=1: run those for ARM in qemu)
	$(BIN)/pip install --quiet --disable-pip-version-check ziglang
	$(BIN)/python tools/cross.py
	$(if $(RUN),bash tools/emulated_tests.sh)

hosts: setup  ## fastText's tests, Annif and datatrove with our drop-ins, each in a pinned environment (HOSTS=annif: one)
	$(BIN)/python tools/hosts.py $(HOSTS)

wheel:     ## the source archive and manylinux wheels in dist/, each installed and tried without network or compiler
	bash tools/wheels.sh

container: ## the container of deploy/ on Debian's packages, built, run and asked (root, mmdebstrap, buildah, podman)
	bash deploy/build.sh

clean:     ## remove what the other targets made
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
