package main

import (
	"context"
	"encoding/json"
)

// An entered is the ledger's final account.
type entered struct {
	Text    string
	Changes []struct {
		Function  string `json:"function"`
		Predicted ledgerSaving
		Proven    *ledgerSaving
		Reverted  string
	} `json:"changes"`
}

type ledgerSaving struct{ Estimate, Low, High float64 }

// ledgerStep reads the ledger twice: as text for people, and as numbers.
func ledgerStep(ctx context.Context, _ *demo, w *work) (any, error) {
	text, err := w.must(ctx, "ledger", w.module, w.bin("beagle"), "ledger")
	if err != nil {
		return nil, err
	}
	out, err := w.must(ctx, "json", w.module, w.bin("beagle"), "ledger", "--json")
	if err != nil {
		return nil, err
	}
	e := &entered{Text: string(text)}
	return e, json.Unmarshal(out, e)
}
