// Package profiles fetches profiles for internal/hotspots: from files,
// directories, the /debug/pprof pages of a running service, Pyroscope and
// Parca. It also reads what hot spots need to know of a checkout.
package profiles
