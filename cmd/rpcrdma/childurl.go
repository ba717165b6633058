package main

import "strings"

// endsInDots reports whether the last part of a URL's path, as it was typed, is . or .. (parseTarget takes those out).
func endsInDots(url string) bool {
	path, _, _ := strings.Cut(url, "?")
	path = strings.TrimRight(path, "/")
	name, _ := unescape(path[strings.LastIndexByte(path, '/')+1:])
	return name == "." || name == ".."
}

// childURL returns the URL of a file below the directory that a URL names.
func childURL(url, name string) string {
	path, query, ok := strings.Cut(url, "?")
	url = strings.TrimRight(path, "/") + "/" + escape(name)
	if ok {
		url += "?" + query
	}
	return url
}
