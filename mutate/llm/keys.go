package llm

// Keys finds the secrets of models. A key goes to its model's server and
// nowhere else.
type Keys interface {
	Key(Model) (Key, error)
}

// A Key is a secret: nothing prints or encodes it.
type Key struct{ secret string }
