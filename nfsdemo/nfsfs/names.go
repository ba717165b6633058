package nfsfs

import "strings"

// split splits a name behind its last slash that is not at the end.
func split(name string) (dir, base string, slash bool) {
	cut := strings.TrimRight(name, "/")
	i := strings.LastIndexByte(cut, '/') + 1
	return cut[:i], cut[i:], len(cut) < len(name)
}

// baseName is what an Info is called whose file was asked for by name.
func baseName(name string) string {
	if _, base, _ := split(name); base != "" {
		return base
	}
	return "."
}

// below returns the name of an entry of a directory.
func below(dir, entry string) string {
	if dir == "" || strings.HasSuffix(dir, "/") {
		return dir + entry
	}
	return dir + "/" + entry
}
