package verify

import "encoding/json"

// fuzzTerms are the contract as a fuzz run is told of it; "" for none.
func (j *Job) fuzzTerms() string {
	terms := j.terms
	if terms == nil {
		terms = j.Env.Builder.Terms()
	}
	if terms == nil {
		return ""
	}
	text, _ := json.Marshal(terms)
	return string(text)
}
