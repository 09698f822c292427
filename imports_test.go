package beagle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/beagle-go/beagle"

// mayImport says which packages of this module each package may import directly. "" is the root
// package. cmd/beagle joins all parts and may import anything; the tasks of the suite import
// nothing but themselves. Every other package stands here.
var mayImport = map[string][]string{
	"":                           {},
	"internal/rt":                {},
	"internal/evolve":            {"", "internal/special"},
	"internal/report":            {""},
	"internal/store":             {""},
	"internal/special":           {},
	"internal/syntax":            {},
	"internal/inorder":           {},
	"internal/scratch":           {},
	"internal/command":           {"internal/tail"},
	"internal/tail":              {},
	"internal/procgroup":         {},
	"internal/parallel":          {},
	"internal/sandbox":           {"", "internal/procgroup", "internal/scratch"},
	"internal/exports":           {},
	"internal/source":            {"", "internal/exports", "internal/syntax", "internal/symbol", "internal/scratch", "internal/tail"},
	"internal/harness":           {"", "internal/rt", "internal/source", "internal/sandbox", "internal/symbol", "internal/tail", "internal/exports"},
	"internal/corpus":            {"", "internal/scratch", "internal/rt", "internal/source", "internal/sandbox", "internal/harness", "internal/gotool", "internal/tail"},
	"internal/coder":             {"", "internal/procgroup", "internal/tail", "internal/source", "mutate/llm"},
	"internal/bench":             {"", "internal/rt", "internal/source", "internal/sandbox", "internal/harness", "internal/special", "internal/symbol"},
	"internal/symbol":            {},
	"internal/effects":           {"internal/syntax"},
	"internal/verify":            {"", "internal/effects", "internal/rt", "internal/source", "internal/sandbox", "internal/harness", "internal/proof", "internal/proof/exec", "mutate/rules", "internal/syntax", "internal/tail"},
	"internal/proof":             {"internal/proof/exec", "internal/proof/solve", "internal/proof/term"},
	"internal/proof/exec":        {"internal/exports", "internal/proof/term", "internal/syntax"},
	"internal/proof/solve":       {},
	"internal/proof/term":        {},
	"internal/lint":              {},
	"internal/lint/withtests":    {},
	"suite":                      {""},
	"suite/runner":               {"", "internal/procgroup", "internal/flow", "internal/flow/local", "internal/scratch", "internal/source", "suite"},
	"mutate":                     {"", "internal/exports", "internal/syntax", "internal/symbol"},
	"mutate/rules":               slices.Concat(forRules, subjects),
	"mutate/rules/bounds":        forRules,
	"mutate/rules/branches":      forRules,
	"mutate/rules/calls":         append(slices.Clone(forRules), "mutate/rules/gofix"),
	"mutate/rules/gofix":         forRules,
	"mutate/rules/hashing":       forRules,
	"mutate/rules/loops":         append(slices.Clone(forRules), "mutate/rules/branches"),
	"mutate/rules/mapping":       forRules,
	"mutate/rules/memory":        forRules,
	"mutate/rules/numbers":       forRules,
	"mutate/rules/patterns":      forRules,
	"mutate/rules/recursion":     forRules,
	"mutate/rules/sorting":       forRules,
	"mutate/rules/text":          forRules,
	"mutate/lift":                {"", "mutate", "internal/syntax"},
	"mutate/rules/measure":       {"", "internal/bench", "internal/rt", "mutate", "mutate/rules"},
	"internal/flow":              {"", "internal/companion", "internal/coder", "mutate", "mutate/lift", "mutate/rules", "internal/rt", "internal/source", "internal/sandbox", "internal/harness", "internal/corpus", "internal/bench", "internal/verify", "internal/store", "internal/evolve", "internal/scratch", "mutate/llm", "internal/gotool", "internal/inplace", "internal/syntax", "internal/audit", "internal/tail", "internal/parallel"},
	"internal/rollout":           {"", "internal/special"},
	"internal/rollout/simulate":  {"internal/rollout"},
	"internal/rollout/slo":       {"internal/watch"},
	"internal/watch":             {"", "internal/special"},
	"internal/watch/simulate":    {"internal/watch"},
	"internal/forecast":          {"", "internal/special"},
	"internal/forecast/toto":     {"internal/forecast", "internal/forecast/safetensors"},
	"internal/ledger":            {"", "internal/special"},
	"bench/figures":              {"", "internal/command", "internal/profiles", "internal/special", "internal/tail", "internal/procgroup", "internal/bench", "internal/rollout/simulate", "internal/watch/simulate", "suite", "internal/llmtest", "internal/mutants", "internal/verify", "internal/sandbox", "internal/sandbox/attack"},
	"suite/commits":              {"", "internal/command", "internal/mutants", "internal/source", "internal/sandbox", "internal/verify", "suite/commits/change", "internal/syntax", "internal/tail"},
	"suite/commits/change":       {"", "internal/exports", "internal/modcopy", "internal/syntax"},
	"internal/mutants":           {"", "internal/source", "internal/sandbox", "internal/harness", "internal/corpus", "internal/verify", "internal/tail", "internal/parallel"},
	"internal/flow/trials":       {"", "internal/flow", "internal/bench", "internal/store"},
	"mutate/llm":                 {"", "mutate", "internal/chat", "internal/syntax", "internal/scratch"},
	"internal/chat":              {},
	"internal/chat/chattest":     {"internal/chat", "internal/llmtest"},
	"internal/mcp":               {"", "mutate/llm", "internal/hotspots", "internal/profiles"},
	"internal/campaign":          {"", "internal/special"},
	"internal/hotspots":          {"", "internal/special", "internal/symbol"},
	"internal/profiles":          {"", "internal/hotspots", "internal/syntax", "internal/scratch", "internal/tail"},
	"internal/settings":          {"", "internal/hotspots"},
	"internal/audit":             {"", "internal/syntax", "internal/tail"},
	"internal/flow/loop":         {"internal/flow", "internal/evolve", "internal/store"},
	"internal/flow/local":        {"", "internal/flow", "internal/flow/loop", "internal/evolve", "internal/store", "mutate/llm"},
	"internal/flow/tools":        {"", "internal/companion", "internal/flow", "internal/flow/fleet", "internal/flow/local", "internal/mcp", "internal/store", "mutate/llm"},
	"internal/flow/fleet":        {"", "internal/flow", "internal/store", "internal/companion"},
	"internal/flow/temporal":     {"", "internal/flow", "internal/flow/fleet", "internal/flow/loop", "internal/flow/campaigns", "internal/campaign", "internal/evolve", "internal/rollout/pilot", "internal/store", "probe/wire", "internal/tail"},
	"internal/flow/campaigns":    {"", "internal/flow", "internal/flow/fleet", "internal/flow/local", "internal/campaign", "internal/benchfile", "internal/hotspots", "internal/scratch", "internal/source", "internal/store", "mutate/llm", "internal/tail"},
	"cmd/beagle-temporal":        {"internal/flow/temporal", "internal/sandbox"},
	"internal/inject":            {"", "probe", "internal/syntax"},
	"probe":                      {"probe/wire"},
	"probe/wire":                 {},
	"probe/probehttp":            {"probe", "probe/wire"},
	"internal/capture":           {"", "internal/rt", "internal/source", "internal/corpus", "internal/special", "probe/wire", "internal/companion"},
	"bench/field":                {"", "internal/command", "internal/special", "mutate", "mutate/lift", "mutate/rules", "mutate/rules/gofix", "internal/rt", "internal/sandbox", "internal/source", "internal/syntax", "internal/llmtest", "internal/modcopy", "internal/verify", "suite/commits/change", "internal/scratch", "internal/tail"},
	"bench/oracles":              {"internal/command", "internal/forecast", "internal/forecast/toto", "internal/watch", "internal/watch/simulate"},
	"bench/strangers":            {"", "internal/command", "internal/source", "internal/sandbox", "internal/verify", "internal/mutants", "internal/modcopy", "internal/exports"},
	"internal/modcopy":           {"internal/tail"},
	"mutate/facts":               {"mutate", "internal/symbol", "internal/syntax"},
	"mutate/kit":                 {},
	"mutate/example":             {"", "internal/inorder", "mutate", "mutate/facts", "mutate/kit", "internal/syntax"},
	"mutate/example/exampletest": {"", "mutate/example"},
	"internal/rollout/pilot":     {"", "internal/rollout", "internal/capture", "internal/ledger", "internal/store", "probe/wire"},
	"internal/watch/windows":     {"", "internal/watch", "internal/hotspots", "internal/forecast", "internal/ledger", "internal/store"},
	"probe/rollout":              {"probe", "probe/wire"},
	"probe/rollout/rollouthttp":  {"probe/rollout"},
	"internal/similarity":        {""},
	"internal/benchfile":         {"", "internal/corpus", "internal/hotspots", "internal/procgroup", "internal/profiles", "internal/rt", "internal/scratch", "internal/similarity", "internal/source"},
	"internal/gotool":            {"", "internal/harness", "internal/source", "internal/exports"},
	"internal/inplace":           {"", "internal/inplace/live", "internal/rt", "internal/gotool", "internal/source", "internal/sandbox", "internal/harness", "internal/syntax", "internal/bench", "internal/tail"},
	"internal/inplace/live":      {"internal/rt"},
	"bench/inplace":              {"", "internal/source", "internal/sandbox", "internal/scratch", "internal/inplace", "internal/mutants", "internal/verify", "internal/command"},
	"internal/companion":         {""},
	"internal/uprobe":            {"", "internal/companion", "probe", "probe/wire"},
	"cmd/beagle-uprobe":          {"internal/uprobe"},
	"cmd/beagle-mcp":             {"internal/flow/tools", "internal/sandbox"},
	"cmd/beagle-flame":           {"internal/hotspots/flame"},
	"bench/rollouts":             {"", "internal/campaign", "internal/procgroup", "internal/rollout", "internal/rollout/pilot"},
	"bench/facets":               {"", "internal/capture", "internal/command", "internal/corpus", "internal/inorder", "internal/rt", "internal/scratch", "internal/source", "internal/special", "probe/wire"},
	"bench/uprobe":               {"internal/capture", "internal/special", "internal/uprobe", "probe/wire"},
	"bench/peers":                {"", "internal/command", "internal/evolve", "internal/llmtest", "internal/store", "mutate/llm"},
	"examples/tags":              {},
	"internal/effects/derive":    {"internal/effects"},
	"internal/effects/gen":       {"internal/effects", "internal/effects/derive"},
	"internal/hotspots/flame":    {},
	"internal/hotspots/sketch":   {},
	"internal/llmtest":           {},
	"internal/llmtest/serve":     {"internal/llmtest"},
	"internal/modcopy/proxytest": {},
	"internal/porttest":          {},
	"internal/sampletest":        {},
	"internal/sandbox/attack":    {},
	"suite/baselines/random":     {"mutate", "mutate/rules"},
	"probe/bench":                {},
	"probe/bench/internal/rig":   {"probe", "probe/wire"},
	"probe/bench/gate":           {"probe", "probe/bench/internal/rig", "probe/wire"},
	"probe/bench/turns":          {"probe/rollout", "probe/bench/internal/rig", "probe/wire"},

	"internal/forecast/safetensors": {},

	"mutate/rules/internal/characters": {"internal/syntax", "mutate", "mutate/example", "mutate/facts", "mutate/rules/internal/edit"},
	"mutate/rules/internal/edit":       {"mutate", "mutate/facts"},
	"mutate/rules/internal/formats":    {"internal/syntax", "mutate", "mutate/facts", "mutate/rules/internal/edit"},
}

// forRules may be imported by all packages of rules.
var forRules = []string{
	"", "internal/symbol", "internal/syntax", "mutate", "mutate/example", "mutate/facts", "mutate/kit",
	"mutate/rules/internal/characters", "mutate/rules/internal/edit", "mutate/rules/internal/formats",
}

// subjects are the packages of rules that mutate/rules lists.
var subjects = []string{
	"mutate/rules/bounds",
	"mutate/rules/branches",
	"mutate/rules/calls",
	"mutate/rules/gofix",
	"mutate/rules/hashing",
	"mutate/rules/loops",
	"mutate/rules/mapping",
	"mutate/rules/memory",
	"mutate/rules/numbers",
	"mutate/rules/patterns",
	"mutate/rules/recursion",
	"mutate/rules/sorting",
	"mutate/rules/text",
}

// forAll may be imported by all packages of Beagle but those that are linked into users' programs.
const forAll = "internal/inorder"

// standardOnly are the packages that import nothing but the standard library
// and each other: the nouns, what is linked into users' programs (rt and the
// probe), the client of models, and the pure search.
var standardOnly = []string{
	"", "internal/rt", "internal/chat", "internal/evolve", "internal/proof/term",
	"internal/proof/solve", "internal/rollout", "internal/rollout/simulate", "internal/watch",
	"internal/watch/simulate", "internal/forecast", "internal/forecast/toto",
	"internal/forecast/safetensors", "internal/ledger", "internal/inorder", "internal/special",
	"internal/syntax", "probe", "probe/wire", "probe/probehttp", "probe/rollout",
	"probe/rollout/rollouthttp", "internal/campaign", "internal/similarity",
	"internal/inplace/live",
}

// companions are the packages that only a program beside beagle links, since a first build of
// beagle would take long with them.
var companions = map[string]string{
	"internal/flow/temporal":  "cmd/beagle-temporal",
	"internal/flow/tools":     "cmd/beagle-mcp",
	"internal/hotspots/flame": "cmd/beagle-flame",
}

type listed struct {
	ImportPath string
	Imports    []string
}

// TestImportRules holds what mayImport lists; TestGroups holds that to ARCHITECTURE.md.
func TestImportRules(t *testing.T) {
	for _, p := range append(list(t, "./..."), list(t, module+"/probe/...")...) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if _, known := mayImport[name]; !known && name != "cmd/beagle" && !strings.HasPrefix(name, "suite/tasks/") {
			t.Errorf("%q is not listed: say in mayImport what it may import", name)
		}
		for _, imported := range p.Imports {
			checkImport(t, name, imported)
		}
	}
}

// downwards are the packages that may import one of a later group of ARCHITECTURE.md. The judge
// asks the rewrites for their lemmas, and a test's server is a scripted model.
var downwards = map[string]string{"internal/verify": "mutate/rules", "internal/chat/chattest": "internal/llmtest"}

// TestGroups: a package may import those of its own group and of earlier ones.
func TestGroups(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("## Packages"))
	text, _, _ = bytes.Cut(text, []byte("## Decisions"))
	// Read which group each package stands in.
	groups, group := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); strings.HasPrefix(line, "### ") {
			group++
		} else if _, known := mayImport[strings.TrimPrefix(name, ".")]; known && name != "" {
			groups[strings.TrimPrefix(name, ".")] = group
		}
	}
	// of returns the group of a package, or of the one that it is a part of; 0 for none.
	of := func(name string) int {
		for ; name != "." && groups[name] == 0; name = path.Dir(name) {
		}
		return groups[name]
	}
	for name, allowed := range mayImport {
		for _, imported := range allowed {
			if from, to := of(name), of(imported); from > 0 && to > from && downwards[name] != imported {
				t.Errorf("%s imports %s, which stands in a later group of ARCHITECTURE.md", name, imported)
			}
		}
	}
	if len(groups) < least {
		t.Errorf("ARCHITECTURE.md has lines for %d packages", len(groups))
	}
}

// least is the number of packages that have a line in ARCHITECTURE.md, at least.
const least = 50

// TestArchitectureLines: each line of a block of ARCHITECTURE.md is of one package at most, which
// begins it.
func TestArchitectureLines(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	inside, named := false, 0
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		for at, word := range strings.Fields(line) {
			if _, known := mayImport[word]; !inside || !known || !strings.Contains(word, "/") {
				continue
			}
			if named++; at > 0 {
				t.Errorf("ARCHITECTURE.md:%d: %s does not begin the line", i+1, word)
			}
		}
	}
	if named < least {
		t.Errorf("ARCHITECTURE.md has lines for %d packages", named)
	}
}

func checkImport(t *testing.T, name, imported string) {
	t.Helper()
	if strings.HasPrefix(imported, "go.temporal.io/") && name != "internal/flow/temporal" {
		t.Errorf("%q imports %s: only internal/flow/temporal knows the engine", name, imported)
	}
	if who := companions[strings.TrimPrefix(imported, module+"/")]; who != "" && name != who {
		t.Errorf("%q imports %s: only %s links it, so that beagle need not be built of it", name, imported, who)
	}
	inside := imported == module || strings.HasPrefix(imported, module+"/")
	if !inside {
		if slices.Contains(standardOnly, name) && strings.Contains(strings.Split(imported, "/")[0], ".") {
			t.Errorf("%q imports %s: only the standard library is allowed there", name, imported)
		}
		return
	}
	target := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	task := strings.HasPrefix(target, "suite/tasks/") && strings.HasPrefix(name, target+"/")
	free := name == "cmd/beagle" || task || target == forAll && !linked(name)
	if allowed := mayImport[name]; !free && !slices.Contains(allowed, target) {
		t.Errorf("%q imports %q: it may import %q only (see ARCHITECTURE.md)", name, target, allowed)
	}
	if strings.HasPrefix(target, "cmd/") {
		t.Errorf("%q imports %q: nothing imports a command", name, target)
	}
	if strings.HasPrefix(target, "internal/flow") && !strings.HasPrefix(name, "internal/flow") &&
		!strings.HasPrefix(name, "cmd/") && name != "suite/runner" {
		t.Errorf("%q imports %q: only commands and suite/runner import flow", name, target)
	}
}

// linked tells which packages are linked into users' programs.
func linked(name string) bool {
	return name == "internal/rt" || name == "internal/inplace/live" || strings.HasPrefix(name, "probe")
}

func list(t *testing.T, pattern string) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
