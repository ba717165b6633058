//go:build !linux

package host

// DefaultCongestion leaves the choice to the system.
const DefaultCongestion = ""

func setCongestion(uintptr, string) error { return ErrCongestion }

func checkCongestion(string) error { return ErrCongestion }
