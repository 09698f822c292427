package companion

import "runtime/debug"

// Version returns the version of Beagle's module, from which this program and its companions are
// built.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
