#!/usr/bin/env bash
# check_wheel.sh WHEEL [PYTHON]: the wheel is installed in a new environment as on a bare machine, and the demo runs.
# Its dependencies are fetched first; then there is no index, no network (where the kernel lets us take it away), and no
# program on the PATH but Python's own: no compiler, no developer tools.
# Not all dependencies have wheels for a Python without a GIL; there, the others must do.
set -euo pipefail
[ $# -ge 1 ] && [ -f "$1" ] || { echo "usage: check_wheel.sh WHEEL [PYTHON]; make wheel builds one in dist/" >&2; exit 2; }
wheel=$(realpath "$1")
python=${2:-python3}
tools=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/fetch"
fetch=("$work/fetch/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: --dest "$work/packages")
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' && gil=off || gil=on
if [ "$gil" = on ]; then
  "${fetch[@]}" "$wheel"
else
  mapfile -t needed < <("$python" - "$wheel" <<'END'
import sys, zipfile
files = zipfile.ZipFile(sys.argv[1])
about = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
lines = files.read(about).decode().splitlines()
print(*(line.split(": ", 1)[1] for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line), sep="\n")
END
  )
  found=()
  for need in "${needed[@]}"; do
    "${fetch[@]}" "$need" 2>/dev/null && found+=("$need") || echo "note: there is no wheel of $need for $python" >&2
  done
fi

offline=()
if unshare --net true 2>/dev/null; then
  offline=(unshare --net)
elif unshare --map-root-user --net true 2>/dev/null; then
  offline=(unshare --map-root-user --net)
else
  echo "note: the network cannot be taken away here; pip and unnaive are only told not to use it" >&2
fi
bare() { # a command with nothing but the new environment around it
  (cd "$work" && "${offline[@]}" "$(command -v env)" -i PATH="$work/venv/bin" HOME="$work" LANG=C.UTF-8 "$@")
}

"$python" -m venv "$work/venv"
install=("$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$work/packages")
if [ "$gil" = on ]; then
  bare "${install[@]}" "$wheel"
else
  bare "${install[@]}" "${found[@]}" && bare "${install[@]}" --no-deps "$wheel"
fi
bare "$work/venv/bin/python" -c 'import shutil; found = [name for name in ("cc", "gcc", "g++", "clang", "cmake", "git") if shutil.which(name)]; assert not found, found'
bare "$work/venv/bin/unnaive" --version | tee "$work/version"
grep -q 'native' "$work/version" || { echo "the wheel has no native kernel" >&2; exit 1; }
bare "$work/venv/bin/unnaive" demo >"$work/demo.txt" || { tail -20 "$work/demo.txt" >&2; exit 1; }
# every native module of the sources is in the wheel
bare "$work/venv/bin/python" "$tools/check_installed.py"
[ "$gil" = on ] || bare "$work/venv/bin/python" -W error -c 'import sys, unnaive; unnaive.TextClassifier("multinomial").fit(["ball", "vote"], [1, 2]).predict(["ball"]); assert not sys._is_gil_enabled()'
echo "$(basename "$wheel"): installed without network and compiler; the demo printed $(wc -l <"$work/demo.txt") lines"
