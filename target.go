package beagle

// A Target is a function that Beagle may make faster, or several as one, together with the
// declarations that may change with it.
type Target struct {
	Module    string   `json:"module"`              // module path
	Dir       string   `json:"dir"`                 // module root, absolute
	PkgPath   string   `json:"pkg_path"`            // import path of the package
	PkgName   string   `json:"pkg_name"`            // name in its package clause
	PkgDir    string   `json:"pkg_dir"`             // package directory, absolute
	File      string   `json:"file"`                // declaring file, absolute
	Line      int      `json:"line"`                // line of the func keyword
	Name      string   `json:"name"`                // "Normalize" or "Type.Method"; of a group "Type" or "{A,B}"
	Group     []string `json:"group,omitempty"`     // the functions and types of a group: "Type", "Type.Method", "A"
	Recv      string   `json:"recv,omitempty"`      // "", "T" or "*T" as declared
	TypeArgs  []string `json:"type_args,omitempty"` // instantiation measured, for generic functions
	Signature string   `json:"signature"`           // Go syntax, with the target's name
	Params    []Param  `json:"params"`              // the receiver first, if there is one
	Results   []Param  `json:"results,omitempty"`
	Variadic  bool     `json:"variadic,omitempty"`
	Scope     []Decl   `json:"scope"`  // declarations that may change; the target itself is the first
	Source    string   `json:"source"` // the original as a candidate file: package, imports, scope
	Go        string   `json:"go"`     // language version of the module, "1.26"
	Tags      []string `json:"tags,omitempty"`
	Facts     Facts    `json:"facts"`
	Contract  Contract `json:"contract,omitzero"` // demands on a candidate; zero: strict equivalence
}

// ID identifies the target by its content: the same function with the same
// helpers, under the same contract, has the same ID in every checkout.
func (t *Target) ID() string {
	if t.Contract.IsZero() {
		return HashOf("target", t.PkgPath, t.Name, t.TypeArgs, t.Source)
	}
	return HashOf("target", t.PkgPath, t.Name, t.TypeArgs, t.Source, t.Contract)
}

// Spec returns the target's name for the command line.
func (t *Target) Spec() string { return t.PkgPath + "." + t.Name }

// A Param is a parameter, the receiver or a result.
type Param struct {
	Name string `json:"name"`
	Type string `json:"type"` // Go syntax as written inside the target's package
	Kind string `json:"kind"` // the kind of the underlying type: "string", "slice", "int", "pointer", ...
}

// A Decl is a package-level declaration in the target's scope.
type Decl struct {
	Name  string `json:"name"` // "Normalize", "Type.Method", "table"
	Kind  string `json:"kind"` // "func", "var" or "const"
	File  string `json:"file"`
	Start int    `json:"start"` // byte offset of the declaration with its doc comment
	End   int    `json:"end"`
}

// Facts are known of a target before anything runs.
type Facts struct {
	Generic      bool     `json:"generic"`
	Method       bool     `json:"method"`
	Recursive    bool     `json:"recursive"`
	CanPanic     bool     `json:"can_panic"`      // a panic, an index, a division or an assertion occurs in scope
	ReadsGlobals []string `json:"reads_globals"`  // package variables that the scope reads
	WritesGlobal []string `json:"writes_globals"` // package variables that the scope writes
	Calls        []string `json:"calls"`          // functions outside the scope that it calls, sorted
	InlineCost   int      `json:"inline_cost"`    // as the compiler reports it; 0 when unknown
	Inlinable    bool     `json:"inlinable"`
}
