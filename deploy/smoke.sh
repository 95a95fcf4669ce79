#!/usr/bin/env bash
# Builds and starts what this folder describes where a container daemon answers. Elsewhere it checks each file with the
# tool that its readers use, and says what it did not do. Exit code 1 where something is wrong.
set -uo pipefail
cd "$(dirname "$0")"
failed=0 left=()

check() { # what it is, then the command
  local what=$1
  shift
  if "$@" > /tmp/rebuno-smoke.$$ 2>&1; then echo "ok    $what"; else
    echo "WRONG $what"
    sed 's/^/      /' /tmp/rebuno-smoke.$$
    failed=1
  fi
  rm -f /tmp/rebuno-smoke.$$
}

tool() { # where the tool is; empty where it is not
  local beside=../.venv/bin/$1
  if [ -x "$beside" ]; then echo "$beside"; else command -v "$1" || true; fi
}

needs() { # the tool, what is left without it
  [ -n "$(tool "$1")" ] || { left+=("$2: no $1 here"); return 1; }
}

if docker info > /dev/null 2>&1; then
  export REBUNO_BEARER_TOKEN=smoke POSTGRES_PASSWORD=smoke
  trap 'docker compose down --volumes > /dev/null 2>&1' EXIT
  check "compose up" docker compose up --build --detach --wait --wait-timeout 180
  check "ready behind nginx" curl --fail --silent http://127.0.0.1:8080/v0/ready
  check "refused without the token" bash -c \
    '[ "$(curl --silent --output /dev/null --write-out "%{http_code}" http://127.0.0.1:8080/v0/executions)" = 401 ]'
  check "answers with it" curl --fail --silent --header "Authorization: Bearer smoke" http://127.0.0.1:8080/v0/executions
  check "one replica killed" docker compose kill replica-1
  check "the other answers" curl --fail --silent --retry 5 --header "Authorization: Bearer smoke" \
    http://127.0.0.1:8080/v0/executions
else
  left+=("images built and started: no container daemon answers")
fi
needs hadolint "Dockerfile linted" && check Dockerfile "$(tool hadolint)" Dockerfile
needs check-jsonschema "compose.yaml held to its schema" &&
  check compose.yaml "$(tool check-jsonschema)" --builtin-schema vendor.compose-spec compose.yaml
if needs promtool "alert rules checked and tested"; then
  check alerts.yml "$(tool promtool)" check rules alerts.yml
  check alerts.test.yml "$(tool promtool)" test rules alerts.test.yml
fi
if needs nginx "nginx.conf read by nginx"; then
  folder=$(mktemp -d)
  # The names of the replicas are known among the containers only.
  sed 's/replica-[12]:8080/127.0.0.1:8080/' nginx.conf > "$folder/site.conf"
  printf 'pid %s/pid;\nerror_log stderr;\nevents {}\nhttp { access_log off; include %s/site.conf; }\n' \
    "$folder" "$folder" > "$folder/nginx.conf"
  check nginx.conf "$(tool nginx)" -t -p "$folder" -c "$folder/nginx.conf"
  rm -rf "$folder"
fi
if needs systemd-analyze "the unit verified by systemd"; then
  folder=$(mktemp -d)
  # The command need not be installed where the file is checked.
  sed 's|^ExecStart=/opt/rebuno/bin/rebuno|ExecStart=/bin/true|' 'rebuno@.service' > "$folder/rebuno@.service"
  check 'rebuno@.service' "$(tool systemd-analyze)" verify "$folder/rebuno@.service"
  rm -rf "$folder"
fi
check grafana/rebuno.json python3 -m json.tool grafana/rebuno.json
for one in "${left[@]}"; do echo "left  $one"; done
exit $failed
