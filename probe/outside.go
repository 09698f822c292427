package probe

import "github.com/beagle-go/beagle/probe/wire"

// Secrets are a session's rules on which values to leave out. Programs that read a process's calls
// from outside follow the same rules with them.
type Secrets struct{ r *redactor }

// NewSecrets returns the permanent rules, and those that a session adds.
func NewSecrets(q wire.Start) (*Secrets, error) {
	r, err := newRedactor(q.Names, q.Types, q.Patterns)
	return &Secrets{r}, err
}

// Name reports whether a parameter, field or key of this name is secret.
func (s *Secrets) Name(name string) bool { return s.r.name(name) }

// Type reports whether values of a type, as import/path.Name, are secret.
func (s *Secrets) Type(name string) bool { return s.r.typ(&coder{name: name}) }

// Text reports whether a text looks secret.
func (s *Secrets) Text(text string) bool { return s.r.text(text) }

// Class returns which characters occur in a text, in the words of [wire.Hole].
func Class(text string) byte { return class(text) }

// Bound reports whether values of a type mean nothing outside their process.
func Bound(name string) bool { return bound[name] }

// Complete sets the defaults of a session, and refuses values out of bounds.
func Complete(q wire.Start) (wire.Start, error) { return complete(q) }

// ListenFor is [Listen] for a program that carries requests out itself.
func ListenFor(
	path, token string, do func(q *wire.Request) (r wire.Reply, payload []byte, err error),
) (*Door, error) {
	return listen(path, token, do)
}
