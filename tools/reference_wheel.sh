#!/usr/bin/env bash
# reference_wheel.sh [FOLDER]: the wheel without native modules, for any system and Python, in dist/ or FOLDER; tried in an
# environment of its own, without a compiler, and then on a system where POSIX is hidden.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-dist}
python=${PYTHON:-python3}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --config-settings=wheel.cmake=false --config-settings=wheel.py-api=py3 --wheel-dir "$work/wheel" .
wheel=$(echo "$work"/wheel/unnaive-*-py3-none-any.whl)
[ -f "$wheel" ] || { echo "this is no wheel for any system: $(ls "$work/wheel")" >&2; exit 1; }
if unzip -l "$wheel" | grep -E '\.(so|pyd|cpp|h)$'; then echo "the wheel has native files" >&2; exit 1; fi
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
"$work/venv/bin/python" tools/check_installed.py --reference
mkdir "$work/here" "$work/other"
(cd "$work" && "$work/venv/bin/python" "$OLDPWD/tests/support/life_of_a_model.py" here >here.txt \
  && "$work/venv/bin/python" "$OLDPWD/tests/support/other_system.py" --locks "$OLDPWD/tests/support/life_of_a_model.py" other >other.txt)
cmp "$work/here.txt" "$work/other.txt"
cp "$wheel" "$folder/"
echo "$folder/$(basename "$wheel"): $(du -k "$wheel" | cut -f1) kB; the same results with POSIX and without"
