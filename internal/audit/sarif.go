package audit

import (
	"encoding/json"
	"io"
	"slices"
)

// SARIF writes a report in the Static Analysis Results Interchange Format, version
// 2.1.0 (OASIS, 2020), as code hosts read it.
func (r *Report) SARIF(w io.Writer, version string) error {
	// Declare the parts of SARIF that a viewer of results needs.
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
	}
	type region struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
	type artifact struct {
		URI string `json:"uri"`
	}
	type physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   region   `json:"region"`
	}
	type location struct {
		Physical physical `json:"physicalLocation"`
	}
	type result struct {
		Rule      string     `json:"ruleId"`
		Level     string     `json:"level"`
		Message   text       `json:"message"`
		Locations []location `json:"locations"`
	}
	type driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Rules   []rule `json:"rules"`
	}
	type tool struct {
		Driver driver `json:"driver"`
	}
	type run struct {
		Tool    tool     `json:"tool"`
		Results []result `json:"results"`
	}
	// List the rules: all static ones, and recorded ones with a finding.
	out := run{Tool: tool{driver{Name: "beagle audit", Version: version}}, Results: []result{}}
	for _, x := range Rules {
		out.Tool.Driver.Rules = append(out.Tool.Driver.Rules, rule{x.ID, text{x.Text}})
	}
	for _, x := range RecordedRules {
		if slices.ContainsFunc(r.Findings, func(f Mistake) bool { return f.Rule == x.ID }) {
			out.Tool.Driver.Rules = append(out.Tool.Driver.Rules, rule{x.ID, text{x.Text}})
		}
	}
	// List the findings.
	for _, f := range r.Findings {
		out.Results = append(out.Results, result{
			Rule: f.Rule, Level: "warning", Message: text{f.Benchmark + ": " + f.Reason + ". " + f.Remedy + "."},
			Locations: []location{{physical{artifact{f.File}, region{f.Line, f.Column}}}},
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []run{out},
	})
}
