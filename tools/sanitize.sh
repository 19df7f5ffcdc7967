#!/usr/bin/env bash
# The kernel's tests under the address and undefined-behaviour sanitizers; `make sanitize` runs this.
# Python's own allocator steps aside, so that reading past the end of a str is seen too.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/sanitize
.venv/bin/python -m nanobind --cmake_dir >/dev/null 2>&1 || .venv/bin/pip install --quiet --disable-pip-version-check nanobind
cmake -S . -B "$folder" -DUNNAIVE_SANITIZE=ON -DCMAKE_BUILD_TYPE=Release -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
cmake --build "$folder" --target _kernel --parallel 2
export LD_PRELOAD="$(c++ -print-file-name=libasan.so):$(c++ -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export PYTHONMALLOC=malloc
.venv/bin/python tools/sanitized_tests.py "$folder"/_kernel.*.so -q -p no:cacheprovider tests/test_kernel.py tests/test_counting.py "$@"
