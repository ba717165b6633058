//go:build !linux

package paired

const defaultCongestion = ""

func setCongestion(uintptr, string) error { return errCongestion }
