#!/usr/bin/env bash
# emulated_tests.sh: the native modules that tools/cross.py has built for Linux on ARM, run on this machine by qemu-user: a
# model lives its life and must come out as it does here, then the kernel's tests run. Minutes.
#
# Needs Debian or Ubuntu, for apt, and its package qemu-user-static. Debian's Python for ARM and the wheels of the
# dependencies are fetched to build/cross/arm; nothing is installed on this machine. Further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "there is no qemu-aarch64; install the package qemu-user-static" >&2; exit 2; }
here=$PWD work=$PWD/build/cross/arm python=.venv/bin/python
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"

if [ ! -x "$work/root/usr/bin/python$version" ]; then
  touch "$work/state/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$work/state" -o Dir::State::status="$work/state/status" -o Dir::Cache="$work/cache" -o Debug::NoLocking=1)
  "${apt[@]}" update
  "${apt[@]}" install --yes --download-only --no-install-recommends "python$version-minimal" "libpython$version-stdlib" libstdc++6 libc6
  for package in "$work"/cache/archives/*.deb; do dpkg-deb --extract "$package" "$work/root"; done
fi

if [ ! -d "$work/site" ]; then
  mapfile -t needed < <("$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' | grep -v matplotlib)
  platforms=()
  for glibc in 17 27 28; do platforms+=(--platform "manylinux_2_${glibc}_aarch64"); done
  .venv/bin/pip download --quiet --disable-pip-version-check --only-binary :all: --platform manylinux2014_aarch64 "${platforms[@]}" --implementation cp --python-version "$version" \
    --abi "cp${version/./}" --abi abi3 --abi none --dest "$work/wheels" "${needed[@]}" pytest pytest-timeout hypothesis openpyxl pandas polars
  for wheel in "$work"/wheels/*.whl; do "$python" -m zipfile --extract "$wheel" "$work/unpacked"; done
  mv "$work/unpacked" "$work/site"
fi

rm -rf "$work/package" "$work/checkout" "$work/life-arm" "$work/life-here"
mkdir -p "$work/package" "$work/checkout" "$work/life-arm" "$work/life-here"
cp -r src/unnaive "$work/package/" # without its native modules, which an editable install keeps elsewhere
cp -r build/cross/aarch64-linux-gnu/unnaive/. "$work/package/unnaive/"
cp -r tests conftest.py pyproject.toml CMakeLists.txt "$work/checkout/"
arm() { "$qemu" -L "$work/root" -E PYTHONPATH="$work/package:$work/site" "$work/root/usr/bin/python$version" "$@"; }

cd "$work/checkout"
arm -c 'import platform, unnaive; print(platform.machine(), platform.python_version(), unnaive.backend); assert unnaive.backend == "native"'
arm tests/support/life_of_a_model.py "$work/life-arm" --rounded >"$work/life-arm.txt"
"$here/.venv/bin/python" tests/support/life_of_a_model.py "$work/life-here" --rounded >"$work/life-here.txt"
cmp "$work/life-arm.txt" "$work/life-here.txt"
echo "a model lived the same life: answers, measures and counts as on $(uname -m), weights to 12 digits"
if [ $# -eq 0 ]; then
  set -- tests/text/test_kernel.py tests/io/test_csv_lines.py tests/base/test_elementary.py tests/data/test_products.py tests/data/test_dense_products.py tests/models/test_dual.py tests/scaleout/test_scratch.py tests/classifier/test_checksums.py tests/models/test_fasttext.py
fi
arm -m pytest -q -p no:cacheprovider -m "not slow" --hypothesis-profile=quick "$@"
