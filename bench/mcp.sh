#!/bin/sh
# Tries 'beagle mcp' with the protocol's own checkers: the inspector's command
# line over stdio and over HTTP, and the conformance suite's scenarios that a
# server of tools can take (most others ask for tools of a test server).
#
#   bench/mcp.sh [DIRECTORY]
#
# Needs Node 22 or later and the npm registry; packages go into DIRECTORY, a
# temporary one by default. Ends with status 0 when everything passed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=${1:-$(mktemp -d)}
mkdir -p "$work/module/p"
export BEAGLE_HOME="$work/home" BEAGLE_MCP_TOKEN=conformance-token GOWORK=off GOFLAGS=-mod=mod
(cd "$root" && GOWORK= GOFLAGS= go build -o "$work/" ./cmd/beagle ./cmd/beagle-mcp)
printf 'module ex.com/m\n\ngo 1.24\n' >"$work/module/go.mod"
printf 'package p\n\nfunc F(s string) int { return len(s) }\n' >"$work/module/p/p.go"
cd "$work"
rm -f server.log proxy.port
[ -d node_modules/@modelcontextprotocol/conformance ] ||
	npm install --silent --no-fund --no-audit @modelcontextprotocol/inspector@0.15.0 @modelcontextprotocol/conformance@0.1.16 node@22
PATH="$work/node_modules/node/bin:$PATH"

"$work/beagle" mcp -C "$work/module" --http 127.0.0.1:0 2>"$work/server.log" &
server=$!
# The checkers send no token: this proxy does it for them, and keeps their
# Host and Origin, which the server judges.
cat >"$work/proxy.mjs" <<'JS'
import http from 'node:http';
const [port, token] = process.argv.slice(2);
const proxy = http.createServer((q, a) => {
  const out = http.request({ port, host: '127.0.0.1', method: q.method, path: q.url, headers: { ...q.headers, authorization: 'Bearer ' + token } }, (r) => {
    a.writeHead(r.statusCode, r.headers);
    r.pipe(a);
  });
  out.on('error', () => a.destroy());
  a.on('close', () => out.destroy());
  q.pipe(out);
});
proxy.listen(0, '127.0.0.1', () => console.log(proxy.address().port));
JS
for i in $(seq 60); do
	port=$(sed -n 's/.*http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$work/server.log")
	[ -n "$port" ] && break
	sleep 1
done
node "$work/proxy.mjs" "$port" "$BEAGLE_MCP_TOKEN" >"$work/proxy.port" &
proxy=$!
trap 'kill $server $proxy 2>/dev/null || true' EXIT
for i in $(seq 60); do [ -s "$work/proxy.port" ] && break || sleep 1; done
url="http://127.0.0.1:$(cat "$work/proxy.port")/mcp"

failed=0
check() { # check NAME PATTERN COMMAND...
	name=$1 pattern=$2
	shift 2
	if "$@" >"$work/out.txt" 2>&1 && grep -q "$pattern" "$work/out.txt"; then
		echo "passed   $name"
	else
		echo "FAILED   $name"
		tail -20 "$work/out.txt"
		failed=1
	fi
}
inspect() { node node_modules/@modelcontextprotocol/inspector/cli/build/cli.js --cli "$@"; }
check 'inspector, stdio: tools/list' evaluate_candidate inspect "$work/beagle" mcp -C "$work/module" --method tools/list
check 'inspector, stdio: tools/call read_lessons' bounds-checks inspect "$work/beagle" mcp -C "$work/module" --method tools/call --tool-name read_lessons
check 'inspector, HTTP: tools/list' evaluate_candidate inspect "$url" --transport http --method tools/list
check 'inspector, HTTP: tools/call list_runs' 'no searches' inspect "$url" --transport http --method tools/call --tool-name list_runs
for scenario in server-initialize ping tools-list dns-rebinding-protection server-sse-multiple-streams; do
	check "conformance: $scenario" '0 failed' node node_modules/@modelcontextprotocol/conformance/dist/index.js server --url "$url" --scenario "$scenario"
done
exit $failed
