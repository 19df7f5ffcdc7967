#!/usr/bin/env bash
# Builds the container of deploy/Dockerfile on Debian's own packages, where no image can be pulled: mmdebstrap makes a root
# with Python, buildah builds on it. Then it is run, as a user that does not own the volume too, and asked for its health.
#   deploy/build.sh [OPTION OF buildah build …]      # such as --volume /etc/pip.conf:/etc/pip.conf:ro
# Needs root, and the packages mmdebstrap, buildah and podman. SUITE is Debian's release, IMAGE the name of what is built, and
# RUN_OPTIONS what podman needs to run it. Where containers cannot be run, inside another one, --isolation chroot builds it and
# RUN=chroot runs its commands in a chroot, by the image's user and with its volume.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${SUITE:-bookworm} image=${IMAGE:-localhost/unnaive} base=localhost/unnaive-base-${SUITE:-bookworm}
for tool in mmdebstrap buildah podman curl; do
  command -v "$tool" >/dev/null || { echo "build.sh needs $tool: apt-get install mmdebstrap buildah podman curl"; exit 2; }
done
work=$(mktemp -d)
port=$((20000 + RANDOM % 10000))
stop_serving() { pkill -TERM -f -- "serve .*--port $port" || true; } # the process inside, too, which a chroot does not end
clean() {
  stop_serving
  rm -rf "$work"
}
trap clean EXIT

if ! buildah images --quiet "$base" >/dev/null 2>&1; then
  mmdebstrap --variant=minbase --include=python3,python3-venv,python3-dev,g++,ca-certificates "$suite" "$work/root.tar"
  root=$(buildah from scratch)
  buildah add --quiet "$root" "$work/root.tar" /
  buildah commit --quiet --rm "$root" "$base"
fi
buildah build --format docker --build-arg "BASE=$base" --file deploy/Dockerfile --tag "$image" "$@" .

# a volume of user 10001 is served and taught; one of another user is refused with a sentence, before the port is open
mkdir "$work/models"
python3 -c 'print("text,label\nball game,sport\nparty vote,politics")' >"$work/models/rows.csv"
chown 10001 "$work/models"
export UNNAIVE_TOKEN=${UNNAIVE_TOKEN:-$(od -An -N 24 -tx1 /dev/urandom | tr -d ' \n')}
read -ra more <<<"${RUN_OPTIONS:-}"
options=("${more[@]}" --network host --read-only --cap-drop ALL --security-opt no-new-privileges --env UNNAIVE_TOKEN)
if [ "${RUN:-podman}" = chroot ]; then
  root=$(buildah from "$image")
  in_image() { buildah run --isolation chroot --network host --env "UNNAIVE_TOKEN=$UNNAIVE_TOKEN" --volume "$work/models:/models" "$root" -- "$@"; }
  serve() { in_image unnaive serve --host 0.0.0.0 "$@"; } # the image's entrypoint
else
  in_image() { podman run --rm "${options[@]}" --volume "$work/models:/models" --entrypoint "$1" "$image" "${@:2}"; }
  serve() { podman run --rm "${options[@]}" --volume "$work/models:/models" "$image" "$@"; }
fi
in_image unnaive train /models/rows.csv --label label --model multinomial -o /models/default.model
serve --port "$port" --allow-host name.example /models/default.model &
serving=$!
for _ in $(seq 300); do
  curl --silent --fail "http://127.0.0.1:$port/healthz" && break
  sleep 0.2
done
curl --silent --fail -H "Host: name.example" -H "Authorization: Bearer $UNNAIVE_TOKEN" "http://127.0.0.1:$port/v1/models/default/teach" \
  -d '{"documents": [{"text": "goal ball", "label": "sport"}]}'
echo
in_image python -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$port/healthz')"
stop_serving
wait "$serving" || true
chown -R 0 "$work/models"
chmod 755 "$work/models"
if serve /models/default.model 2>"$work/said"; then
  echo "a volume of another user was not refused" && exit 1
fi
grep -- "--user 0:" "$work/said"
echo "built $image; it serves, teaches, is healthy, and says what to do about a volume of another user"
