#!/bin/sh
# outside.sh runs `beagle evolve` on functions of modules that nobody here wrote, and prints a Markdown table of what came of
# them (docs/outside.md explains the choice). The modules come through the module proxy, are copied to a scratch directory, and
# stay unchanged except for what `go mod download` adds.
#
#	bench/outside.sh [-d DIR] [PATTERN]   only the rows whose name matches; everything goes to DIR (default: a new one)
#
# BEAGLE=path takes a built beagle; EVOLVE="..." replaces the budget.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=
while getopts d: o; do
	case $o in d) dir=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
pattern=${1:-.}
dir=${dir:-$(mktemp -d)}
mkdir -p "$dir/mod" "$dir/out"
dir=$(cd "$dir" && pwd)
budget=${EVOLVE:---candidates 30 --measure 8s --fuzz 4s}
beagle=${BEAGLE:-$dir/beagle}
[ -n "${BEAGLE:-}" ] || (cd "$root" && go build -o "$beagle" ./cmd/beagle)
export BEAGLE_HOME="$dir/home" GOWORK=off

# fetch MODULE@VERSION copies a module and prints where it is.
fetch() {
	to="$dir/mod/$(echo "$1" | tr / _)"
	if [ ! -d "$to" ]; then
		from=$(cd "$dir" && go mod download -json "$1" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",$/\1/p')
		cp -r "$from" "$to.new" && chmod -R u+w "$to.new"
		# The suites of a module may need more than its go.sum lists.
		(cd "$to.new" && GOFLAGS=-mod=mod go mod download && GOFLAGS=-mod=mod go list -test -deps ./...) >/dev/null 2>&1 || true
		mv "$to.new" "$to"
	fi
	echo "$to"
}

# row NAME MODULE@VERSION ARGS... runs one function and prints its line.
row() {
	name=$1 module=$2
	shift 2
	echo "$name $module $*" | grep -q -- "$pattern" || return 0
	at=$(fetch "$module")
	start=$(date +%s)
	status=0
	# shellcheck disable=SC2086 # the budget is several words
	timeout 600 "$beagle" evolve $budget --out "$dir/out/$name" -C "$at" "$@" >"$dir/out/$name.txt" 2>"$dir/out/$name.err" || status=$?
	seconds=$(($(date +%s) - start))
	for what; do :; done # the last argument
	[ "$#" -eq 1 ] || what="$* "
	echo "| \`$module\` | \`${what% }\` | $(verdict "$dir/out/$name" $status)$(tests "$name" "$at") | $seconds s |"
}

# tests applies a patch to a copy of the module and says what the package's own tests make of it.
tests() {
	patch="$dir/out/$1/patch.diff"
	[ -s "$patch" ] || return 0
	pkg=./$(sed -n 's,^+++ b/,,p' "$patch" | head -1 | xargs dirname)
	copy="$dir/patched/$1"
	rm -rf "$copy" && mkdir -p "$dir/patched" && cp -r "$2" "$copy"
	if ! (cd "$copy" && GIT_CEILING_DIRECTORIES="$dir/patched" git apply "$patch") 2>"$dir/out/$1.apply"; then
		echo "; the patch DOES NOT APPLY"
	elif (cd "$copy" && GOFLAGS=-mod=mod go test "$pkg") >"$dir/out/$1.test" 2>&1; then
		echo "; the package's tests pass with it"
	elif (cd "$2" && GOFLAGS=-mod=mod go test "$pkg") >"$dir/out/$1.before" 2>&1; then
		echo "; the package's tests FAIL with it"
	else
		echo "; the package's tests fail with and without it"
	fi
}

# verdict words what a run printed.
verdict() {
	case $2 in
	0)
		outcome=$(sed -n 's/^[^ ]*: \(improved\|no-improvement\)$/\1/p' "$1.txt")
		ratio=$(sed -n 's/^  faster by  *//p' "$1.txt")
		why=$(sed -n '/: \(improved\|no-improvement\)$/{n;s/^  //p;}' "$1.txt")
		[ "$outcome" = improved ] && echo "**improved**: $ratio" || echo "$outcome: $why"
		;;
	2) echo "refused: $(grep '^beagle evolve: ' "$1.err" | sed "s/^beagle evolve: //; s,$dir/mod/,,g")" ;;
	124) echo "FAILED: still running after 600 s" ;;
	*) echo "FAILED ($2): $(grep '^beagle evolve: ' "$1.err" | head -1)" ;;
	esac
}

echo "| module | function | verdict | time |"
echo "|---|---|---|---:|"

# Bytes in and out, an unexported function, one with many helpers.
row gjson-append github.com/tidwall/gjson@v1.20.0 AppendJSONString
row gjson-unescape github.com/tidwall/gjson@v1.20.0 unescape
row gjson-get github.com/tidwall/gjson@v1.20.0 Get
# Assembly: refused where the function itself has no Go body; with a build tag it has one.
row xxhash-asm github.com/cespare/xxhash/v2@v2.3.0 Sum64
row xxhash-go github.com/cespare/xxhash/v2@v2.3.0 --tags purego Sum64
row xxhash-write github.com/cespare/xxhash/v2@v2.3.0 --tags purego Digest.Write
row snappy-literal github.com/golang/snappy@v1.0.0 --tags noasm emitLiteral
# Errors among the results.
row uuid-parse github.com/google/uuid@v1.6.0 Parse
# One that is as good as it gets, and one that is not.
row semver-compare golang.org/x/mod@v0.42.0 ./semver.Compare
row mod-escape golang.org/x/mod@v0.42.0 ./module.escapeString
# Generics, with and without a function parameter; the module comes without most of its tests.
row lo-uniq github.com/samber/lo@v1.53.0 Uniq
row lo-map github.com/samber/lo@v1.53.0 Map
row lo-without github.com/samber/lo@v1.53.0 Without
row lo-snake github.com/samber/lo@v1.53.0 SnakeCase
# An internal package.
row tools-diff golang.org/x/tools@v0.52.0 ./internal/diff.Lines
# Many dependencies.
row k8s-quantity k8s.io/apimachinery@v0.37.2 ./pkg/api/resource.ParseQuantity
row k8s-merge k8s.io/apimachinery@v0.37.2 ./pkg/labels.Merge
row prom-duration github.com/prometheus/common@v0.73.1 ./model.Duration.String
row prom-signature github.com/prometheus/common@v0.73.1 ./model.LabelsToSignature
# Interface parameters.
row prom-escape github.com/prometheus/common@v0.73.1 ./expfmt.writeEscapedString
row toml-decode github.com/BurntSushi/toml@v1.6.0 Decoder.Decode
# A slice, a pointer into another package, a table of constants.
row toml-key github.com/BurntSushi/toml@v1.6.0 Key.String
row humanize-big github.com/dustin/go-humanize@v1.1.0 BigComma
row humanize-bytes github.com/dustin/go-humanize@v1.1.0 ParseBytes
# A receiver that holds functions.
row mux-match github.com/gorilla/mux@v1.8.1 Router.Match
row goldmark-url github.com/yuin/goldmark@v1.8.7 ./util.URLEscape
row goldmark-width github.com/yuin/goldmark@v1.8.7 ./util.EastAsianWidth
