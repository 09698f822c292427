package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// An entered is what the ledger says at the end.
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

func ledgerStep(ctx context.Context, _ *demo, w *work) (any, error) {
	text, status, err := w.beagle(ctx, "ledger", "ledger")
	if err != nil || status != 0 {
		return nil, fmt.Errorf("ledger: status %d, %w", status, err)
	}
	out, status, err := w.beagle(ctx, "json", "ledger", "--json")
	if err != nil || status != 0 {
		return nil, fmt.Errorf("ledger: status %d, %w", status, err)
	}
	e := &entered{Text: string(text)}
	return e, json.Unmarshal(out, e)
}
