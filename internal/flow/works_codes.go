package flow

import (
	"cmp"

	"github.com/beagle-go/beagle/internal/store"
)

// A codeIndex tells which candidate of a run had a machine code first. It is in the store, since
// the run may go on in another process.
type codeIndex struct {
	store          *store.Store
	run            string
	root, rootCode string
}

// codes returns the machine codes of the run.
func (w *works) codes() *codeIndex {
	return &codeIndex{store: w.store, run: w.run, root: w.root.ID, rootCode: w.ready.Root.Static.CodeHash}
}

func (b *codeIndex) key(code string) store.Key {
	return store.Key{Kind: "code", Candidate: code, Extra: b.run}
}

// ownerOf returns the candidate that had a code first, or "".
func (b *codeIndex) ownerOf(code string) string {
	first := ""
	switch {
	case code == "":
	case code == b.rootCode:
		first = b.root
	default:
		b.store.Shelved(b.key(code), &first)
	}
	return first
}

// settle returns the first candidate with a code: this one, if there was none.
func (b *codeIndex) settle(code, id string) (string, error) {
	if first := b.ownerOf(code); first != "" || code == "" {
		return cmp.Or(first, id), nil
	}
	return id, b.store.Shelve(b.key(code), id)
}
