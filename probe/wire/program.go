package wire

// A Program is a question in byte code: a stack machine's operations that leave a bool. The
// controller compiles it from a Go expression; the probe runs any bytes within fixed bounds, and
// counts the call as undecided when they make no sense.
type Program struct {
	Text   string    `json:"text"` // the expression, for people
	Code   []byte    `json:"code"`
	Texts  []string  `json:"texts,omitempty"`
	Floats []float64 `json:"floats,omitempty"`
}

// Operations of a program. Operands are varints after the operation.
const (
	OpArg       = iota + 1 // index: pushes an argument, the receiver first
	OpResult               // index: pushes a result
	OpInt                  // value
	OpText                 // index into Texts
	OpFloat                // index into Floats
	OpBool                 // 0 or 1
	OpField                // index: replaces a struct by its field
	OpDeref                // replaces a pointer by what it points to
	OpLen                  // replaces text, a list or a map by its length
	OpCap                  // replaces a slice by its capacity
	OpIndex                // pops an index and a list or text, pushes the element
	OpEqual                // pops two, pushes a bool
	OpLess                 // pops two, pushes a bool
	OpLessEqual            // pops two, pushes a bool
	OpNot                  //
	OpAnd                  // distance: if the top is false jumps, keeping it; else pops it
	OpOr                   // distance: if the top is true jumps, keeping it; else pops it
	OpAdd                  //
	OpSub                  //
	OpMul                  //
	OpDiv                  // undecided when the divisor is 0
	OpMod                  // undecided when the divisor is 0
	OpNeg                  //
	OpIsNil                // replaces a pointer, slice, map, interface, function or channel by a bool
	OpCall                 // index into Functions
	OpPanicked             // pushes whether the call panicked
)

// A Function is one that questions may call.
type Function struct {
	Name string // in the expression
	Args int
	What string // for help and messages
}

// Functions are those that questions may call. Their order is part of the byte code.
var Functions = []Function{
	{"utf8.ValidString", 1, "text is valid UTF-8"},
	{"utf8.Valid", 1, "bytes are valid UTF-8"},
	{"ascii", 1, "text or bytes are all ASCII"},
	{"sorted", 1, "a list is in ascending order"},
	{"unique", 1, "a list has no two equal elements"},
	{"strings.HasPrefix", 2, ""},
	{"strings.HasSuffix", 2, ""},
	{"strings.Contains", 2, ""},
}

// Limits of a program.
const (
	MaxCode  = 4096 // bytes
	MaxStack = 32
	MaxSteps = 20_000 // per call
)
