#!/usr/bin/env bash
# make free-threaded PYTHON=python3.13t: the package on an interpreter without a GIL, in an environment of its own under
# build/, and the tests of all that is native or used by several threads. Further arguments go to pytest.
#
# Dependencies are taken as wheels, of an older version where the newest has none for this interpreter; what has none at
# all is built from source, and left out with a note where that fails. Models are read without safetensors, and tests of
# stems are skipped without PyStemmer. Of those that are there, PyStemmer would switch the GIL on; PYTHON_GIL=0 keeps it
# off, since every thread has stemmers of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3.13t}
[ $# -gt 0 ] && shift
"$python" -c 'import sys, sysconfig; sys.exit(not sysconfig.get_config_var("Py_GIL_DISABLED"))' 2>/dev/null \
  || { echo "$python is no Python without a GIL; name one: make free-threaded PYTHON=python3.13t" >&2; exit 2; }
venv=build/free-threaded-$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
install=("$venv/bin/pip" install --quiet --disable-pip-version-check)

list() { # the dependencies of the package, or those of its tests
  "$python" -c '
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
package = project["dependencies"] + [one for name in ("tables", "figures", "sklearn", "stemming") for one in extras[name]]
tests = [one for one in extras["dev"] if one.startswith(("pytest", "hypothesis", "pandas", "polars"))] + extras["excel"]
print(*(package if sys.argv[1] == "package" else tests), sep="\n")' "$1"
}
leave_out() { echo "note: there is no $1 for $python; it is left out"; }
mapfile -t package < <(list package)
mapfile -t tests < <(list tests)
for one in "${package[@]}"; do
  "${install[@]}" --only-binary :all: "$one" 2>/dev/null || "${install[@]}" --prefer-binary "$one" >/dev/null 2>&1 || leave_out "$one"
done
for one in "${tests[@]}"; do
  "${install[@]}" --only-binary :all: "$one" 2>/dev/null || leave_out "$one"
done
"${install[@]}" --no-deps --force-reinstall .

export PYTHON_GIL=0
cd tests # the installed package, not the sources beside it
exec "../$venv/bin/python" -m pytest -q -p no:cacheprovider -m "not slow" --hypothesis-profile=quick \
  text/test_free_threading.py classifier/test_threads.py text/test_kernel.py text/test_counting.py text/test_characters.py base/test_elementary.py data/test_products.py data/test_dense_products.py \
  models/test_dual.py models/test_gis.py models/test_or_gate.py scaleout/test_scratch.py models/test_native_borders.py models/test_paths.py io/test_batches.py \
  io/test_csv_lines.py data/test_text_hashes.py data/test_running_sums.py laws "$@"
