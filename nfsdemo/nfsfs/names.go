package nfsfs

import "strings"

// split splits a name after its last slash, not counting slashes at the end.
func split(name string) (dir, base string, slash bool) {
	cut := strings.TrimRight(name, "/")
	i := strings.LastIndexByte(cut, '/') + 1
	return cut[:i], cut[i:], len(cut) < len(name)
}

// baseName returns the name for the Info of a file.
func baseName(name string) string {
	if _, base, _ := split(name); base != "" {
		return base
	}
	return "."
}

// below returns the name of an entry in a directory.
func below(dir, entry string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + entry
	}
	return dir + "/" + entry
}
