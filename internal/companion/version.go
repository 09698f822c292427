package companion

import "runtime/debug"

// Version is that of Beagle's module, of which this program and its companions are built.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}
