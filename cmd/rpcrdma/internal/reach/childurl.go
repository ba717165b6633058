package reach

import (
	"strings"
)

// EndsInDots reports whether the path of a URL, as it was typed, ends with . or .., which
// ParseTarget resolves.
func EndsInDots(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	path = strings.TrimRight(path, "/")
	name, _ := Unescape(path[strings.LastIndexByte(path, '/')+1:])
	return name == "." || name == ".."
}

// ChildURL returns the URL of a file below the directory that a URL names.
func ChildURL(url, name string) string {
	path, query, ok := strings.Cut(url, "?")
	url = strings.TrimRight(path, "/") + "/" + Escape(name)
	if ok {
		url += "?" + query
	}
	return url
}
