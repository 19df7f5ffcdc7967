#!/usr/bin/env bash
# libcxx_tests.sh: the native modules by Clang with LLVM's C++ library, as on macOS; a model lives its life with them, then
# the tests of what is native run. Minutes; OPTIMISED=-O3 compiles as a wheel is compiled.
#
# Needs `make setup`, clang++ and libc++ (Debian's packages clang, libc++-dev and libc++abi-dev). The package lies in an
# environment of its own under build/, where everything else comes from .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
compiler=${CXX:-clang++} work=$PWD/build/libcxx
mkdir -p "$work"
echo '#include <vector>' >"$work/trial.cpp"
"$compiler" -stdlib=libc++ -fsyntax-only "$work/trial.cpp" 2>/dev/null || { echo "$compiler with libc++ is not there; install the packages clang, libc++-dev and libc++abi-dev" >&2; exit 2; }
rm -rf "$work/wheel" "$work/venv"
CXX=$compiler CXXFLAGS=-stdlib=libc++ PATH="$PWD/.venv/bin:$PATH" .venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
  --config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE="${OPTIMISED:--O1}" --wheel-dir "$work/wheel" .
.venv/bin/python -m venv --without-pip "$work/venv"
site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
.venv/bin/python -m zipfile --extract "$work"/wheel/unnaive-*.whl "$site"
# a folder that is named in a .pth file is searched after this one, and its own .pth files, such as that of the editable
# install, are not read
.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/beside.pth"
for module in "$site"/unnaive/text/_kernel.*.so "$site"/unnaive/io/_rows.*.so; do
  ldd "$module" | grep -q 'libc++' || { echo "$(basename "$module") is not linked to libc++" >&2; exit 1; }
done
"$work/venv/bin/python" tools/check_installed.py --tests tests
