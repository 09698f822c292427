#!/usr/bin/env bash
# Everything that must hold for this module, from a clean clone. Rust is needed
# for the last part only; without it, or without an emulator, one line says what
# was left out.
#
#   ./ci.sh         everything
#   ./ci.sh some    what ./test of the repository leaves, and of the build modes and of the targets of
#                   cross builds a few, drawn anew each time: each compiles a standard library of its
#                   own
set -euo pipefail
cd "$(dirname "$0")"
export GOWORK=off GOFLAGS="${GOFLAGS:-}"
scratch=$(mktemp -d)
emulator=
trap '[ -z "$emulator" ] || kill "$emulator" 2>/dev/null || true; wait; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

say() { printf '\n== %s (after %d s)\n' "$*" $SECONDS; }

some=${1:-}
[ "$some" = some ] || export SIMDTEST_LENGTHS=all # for emulators and lower tiers, which run with -short
drawn() { # N WORD...: some of the words, or all
	local n=$1
	shift
	if [ "$some" = some ]; then shuf -n "$n" -e -- "$@"; else printf '%s\n' "$@"; fi
}

# The emulators are installed before one of them runs beside the rest.
command -v qemu-aarch64 >/dev/null || { apt-get update && apt-get install -y qemu-user; } >"$scratch/log" 2>&1 || true
if ! grep -q avx512_vbmi2 /proc/cpuinfo; then
	./avx512.sh >"$scratch/avx512" 2>&1 & # it has work for one processor, for minutes
	emulator=$!
fi

say "format and vet, both assembly dialects"
unformatted=$(find . -name '*.go' -print0 | xargs -0 gofmt -l)
[ -z "$unformatted" ] || { echo "run gofmt -w on: $unformatted"; exit 1; }
go vet ./...
GOARCH=arm64 CGO_ENABLED=0 go vet ./...
go vet -tags purego ./...
export GOFLAGS="$GOFLAGS -vet=off -timeout=1h" # go test would vet again in every mode

say "tests"
[ "$some" = some ] || go test ./... # a run of CI tries some beside these
(cd examples/commas && go vet ./... && go test ./...)

say "every tier that this processor has"
for max in purego sse42 avx2 vclmul; do SIMD_MAX=$max go test -short -count=1 . ./crc; done

mode() {
	echo "$1"
	case $1 in
	no-cgo) CGO_ENABLED=0 go test -short . ./crc ;;
	cgo) CGO_ENABLED=1 go test -short . ./crc ;;
	pie) go test -short -buildmode=pie . ./crc ;;
	purego) go test -short -tags purego . ./crc ./bench ;; # the generator is the same without kernels
	archsimd)
		go version | grep -q 'go1\.26.*amd64' || return 0
		GOEXPERIMENT=simd go vet . ./bench
		GOEXPERIMENT=simd go test -short . ./bench
		;;
	v1) GOAMD64=v1 go test -short . ./crc ;;
	v3) if grep -q avx2 /proc/cpuinfo; then GOAMD64=v3 go test -short . ./crc; fi ;;
	external) if command -v gcc >/dev/null; then go test -short -ldflags=-linkmode=external . ./crc; fi ;;
	esac
}
say "build modes"
for m in $(drawn 2 no-cgo cgo pie purego archsimd v1 v3 external); do mode "$m"; done
if command -v gcc >/dev/null; then
	say "race detector: clean where it must be, and it sees a kernel's reads"
	go vet -race . ./crc
	go test -race -short . ./crc
	status=0
	go build -race -o "$scratch/racy" ./internal/ci/racy
	"$scratch/racy" >"$scratch/log" 2>&1 || status=$?
	if [ "$status" != 66 ] || ! grep -q 'DATA RACE' "$scratch/log"; then
		echo "the race detector missed a write into a buffer that a kernel reads (status $status)"
		exit 1
	fi
else
	echo "left out: external linking and -race, which need gcc"
fi

say "vendored, and from a file proxy with no Rust on PATH"
mkdir -p "$scratch/prog"
cat >"$scratch/prog/main.go" <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/beagle-go/beagle/simd"
	"github.com/beagle-go/beagle/simd/crc"
)

func main() {
	ok := simd.TagValidString("env:prod") && simd.IndexNonASCIIString("aé") == 1 && crc.UpdateString(0, "123456789") == 0xe3069283
	fmt.Println(simd.Tier(), ok)
	if !ok {
		os.Exit(1)
	}
}
GO
printf 'module example.com/prog\n\ngo 1.26.0\n\nrequire github.com/beagle-go/beagle/simd v0.1.0\n' >"$scratch/prog/go.mod"
go build -o "$scratch/mkproxy" ./internal/ci/proxy
"$scratch/mkproxy" . github.com/beagle-go/beagle/simd v0.1.0 "$scratch/proxy"
"$scratch/mkproxy" "$scratch/prog" example.com/prog v0.1.0 "$scratch/proxy"
godir=$(dirname "$(command -v go)")
clean=(env PATH="$godir:/usr/bin:/bin" GOPROXY="file://$scratch/proxy" GONOSUMDB='*' GONOSUMCHECK=1 GOFLAGS='-mod=mod -modcacherw' GOMODCACHE="$scratch/mod" GOBIN="$scratch/bin")
(cd "$scratch" && "${clean[@]}" go install example.com/prog@v0.1.0 && "$scratch/bin/prog")
(cd "$scratch/prog" && "${clean[@]}" go mod tidy && "${clean[@]}" go mod vendor && "${clean[@]}" GOFLAGS=-mod=vendor go run .)

say "cross builds"
mkdir "$scratch/cross"
for target in $(drawn 1 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 freebsd/amd64 freebsd/arm64 \
	linux/riscv64); do
	echo "$target"
	CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go test -c -ldflags='-s -w' -o "$scratch/cross/" . ./crc
done

say "arm64 kernels under qemu-user, with preemption signals"
if command -v qemu-aarch64 >/dev/null; then
	for package in . ./crc; do
		CGO_ENABLED=0 GOARCH=arm64 go test -c -o "$scratch/arm" $package
		qemu-aarch64 "$scratch/arm" -test.short
	done
else
	echo "left out: the arm64 tests, which need qemu-aarch64 (Debian: qemu-user)"
fi

say "the avx512 tier"
if [ -z "$emulator" ]; then
	echo "the tests above ran on it"
else
	status=0
	wait "$emulator" || status=$?
	emulator=
	cat "$scratch/avx512"
	[ "$status" = 0 ] || [ "$status" = 3 ]
fi

say "committed bytes are what the kernels compile to"
pinned=$(sed -n 's/^const pinnedRust = "\(.*\)"$/\1/p' cmd/simdgen/rust.go)
command -v rustup >/dev/null && rustup target add aarch64-unknown-linux-gnu >"$scratch/log" 2>&1 || true
if ! command -v rustc >/dev/null || ! rustc --version | grep -q "^rustc $pinned "; then
	echo "left out: simdgen verify, which needs rustc $pinned"
elif [ ! -d "$(rustc --print sysroot)/lib/rustlib/aarch64-unknown-linux-gnu" ]; then
	echo "left out: simdgen verify, which needs: rustup target add aarch64-unknown-linux-gnu"
else
	TMPDIR="$scratch" ./regen verify
fi
