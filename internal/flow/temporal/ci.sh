#!/usr/bin/env bash
# The Temporal server of the tests: built once, linted, and handed to the
# driver's tests, which kill it. From an empty build cache it takes minutes.
#
#   ci.sh         lints the server, and tests the driver with it
#   ci.sh lint    lints the server only
#   ci.sh FILE    builds the server only; BEAGLE_DEVSERVER=FILE hands it to the tests
set -euo pipefail
file=${1:+$(realpath -m "$1")} # as seen from where it was named
cd "$(dirname "$0")/devserver"
export GOWORK=off # it is no part of the workspace, on purpose

lint() {
	go vet .
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 .
}

case ${1:-} in
lint) lint ;;
?*) go build -ldflags='-s -w' -o "$file" . ;; # debug information is a third of the work
*)
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	lint
	go build -ldflags='-s -w' -o "$scratch/devserver" .
	unset GOWORK
	cd ..
	BEAGLE_DEVSERVER="$scratch/devserver" go test -count=1 -timeout 1h .
	;;
esac
