#!/usr/bin/env bash
# The Temporal server of the tests: built once, linted, and handed to the
# driver's tests, which kill it. From an empty build cache it takes minutes.
set -euo pipefail
cd "$(dirname "$0")/devserver"
export GOWORK=off # it is no part of the workspace, on purpose
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go vet .
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 .
go build -o "$scratch/devserver" .
unset GOWORK
cd ..
BEAGLE_DEVSERVER="$scratch/devserver" go test -count=1 -timeout 1h .
