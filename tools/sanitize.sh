#!/usr/bin/env bash
# All native modules under sanitizers; `make sanitize` runs this, which needs nothing but `make setup` and a compiler.
#   tools/sanitize.sh             address and undefined behaviour, then threads, then the allocator's own checks
#   tools/sanitize.sh address     one of the three: address, thread, allocator; further arguments go to pytest
#   QUICK=1 tools/sanitize.sh     without the slow tests, and with few drawn cases: minutes instead of an hour
# Python's own allocator steps aside, so that reading past the end of a str is seen too.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH" PYTHONMALLOC=malloc
few=()
[ -n "${QUICK:-}" ] && few=(-m "not slow" --hypothesis-profile=quick)

build() { # build NAME FLAGS: every module into build/sanitize-NAME
  cmake -G Ninja -S . -B "build/sanitize-$1" -DUNNAIVE_SANITIZE="$2" -DCMAKE_BUILD_TYPE=Release \
    -DPython_EXECUTABLE="$PWD/.venv/bin/python" >/dev/null
  cmake --build "build/sanitize-$1" --parallel 2
}

run() { # run NAME LIBRARIES PYTEST-ARGUMENTS…
  local folder="build/sanitize-$1" libraries="$2"
  shift 2
  LD_PRELOAD="$libraries" .venv/bin/python tools/sanitized_tests.py "$folder" -q -p no:cacheprovider --capture=sys "$@"
}

address() {
  build address address,undefined
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  run address "$(c++ -print-file-name=libasan.so):$(c++ -print-file-name=libubsan.so)" tests/text/test_kernel.py \
    tests/text/test_counting.py tests/base/test_elementary.py tests/data/test_products.py tests/data/test_dense_products.py tests/models/test_native_borders.py tests/models/test_paths.py tests/models/test_gis.py \
    tests/models/test_dual.py tests/io/test_batches.py tests/models/test_or_gate.py tests/io/test_csv_lines.py tests/data/test_text_hashes.py \
    tests/data/test_running_sums.py tests/io/test_folder_ahead.py tests/models/test_fasttext.py \
    tests/interop/test_fasttext_interface.py tests/models/test_native_fuzz.py tests/text/test_tf_idf_scoring.py tests/text/test_kernel_counts.py tests/text/test_mail.py tests/classifier/test_sums_only.py tests/text/test_class_sums.py \
    tests/scaleout/test_filter.py "${few[@]}" "$@"
}

thread() {
  build thread thread
  # Python and numpy are not instrumented: only what our own modules do is reported; forking is more than it can follow
  export TSAN_OPTIONS="halt_on_error=1:exitcode=66:ignore_noninstrumented_modules=1:report_signal_unsafe=0"
  run thread "$(c++ -print-file-name=libtsan.so)" "${few[@]}" -m "not slow" tests/classifier/test_threads.py tests/text/test_kernel.py tests/models/test_dual.py \
    tests/text/test_free_threading.py tests/io/test_folder_ahead.py \
    -k "(threads or free_threading or folder_ahead or sizes or readers or estimators_too or gil or concurrent or same_time or \
        ids_do_not_depend or kernel_equals) and not fork" "$@"
}

allocator() { # SciPy's code is not instrumented: glibc fills what is freed and looks at the borders of each block
  export MALLOC_PERTURB_=165 MALLOC_CHECK_=3
  local library=""
  # from glibc 2.34 on the checks are in a library of their own
  ldconfig -p 2>/dev/null | grep -q libc_malloc_debug.so.0 && library=libc_malloc_debug.so.0
  LD_PRELOAD="$library" .venv/bin/python -m pytest -q -p no:cacheprovider --capture=sys tests/laws/test_values.py \
    tests/classifier/test_compress.py tests/text/test_failing_allocations.py "${few[@]}" "$@"
}

what="${1:-all}"
[ $# -gt 0 ] && shift
case "$what" in
  all) (address "$@") && (thread "$@") && (allocator "$@") ;;
  address | thread | allocator) "$what" "$@" ;;
  *) echo "tools/sanitize.sh [address|thread|allocator]" && exit 2 ;;
esac
