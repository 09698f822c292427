#!/usr/bin/env bash
# build.sh FILE builds the program of this directory into FILE. The Go proxy has the Agent's
# modules, but its module of settings lacks files that the Agent's own build makes: so that module
# is copied to made/ and gets stand-ins/settings.go.txt instead of them. Three modules that the proxy
# does not have are stand-ins too. The test is `AGENT_SENDER=FILE go test -run TheAgentsOwnCode ./intake`.
set -euo pipefail
out=$(realpath -m "${1:?build.sh FILE: name the file to build}")
cd "$(dirname "$0")"
export GOWORK=off GOFLAGS="${GOFLAGS:-} -mod=mod"
version=v0.85.1
module=github.com/DataDog/datadog-agent/pkg/config/setup
empty=$(mktemp -d) # of no module
trap 'rm -rf "$empty"' EXIT
from=$(cd "$empty" && go mod download -json "$module@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p') || true
[ -n "$from" ] || { echo "$module@$version is not to be had" >&2; exit 1; }
rm -rf made
cp -r "$from" made
chmod -R u+w made
cp stand-ins/settings.go.txt made/settings.go
go build -tags zlib,zstd -o "$out" .
