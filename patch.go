package beagle

// A Patch is a candidate as a change to the user's files.
type Patch struct {
	Diff  string      `json:"diff"` // unified, paths relative to the module root
	Files []PatchFile `json:"files"`
}

// A PatchFile is one file of a patch, whole.
type PatchFile struct {
	Path   string `json:"path"`          // relative to the module root
	Before string `json:"before_sha256"` // "" when the file is new
	After  string `json:"after"`
}
