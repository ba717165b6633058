package main

import "strings"

// childURL returns the URL of a file below the directory that a URL names.
func childURL(url, name string) string {
	path, query, ok := strings.Cut(url, "?")
	url = strings.TrimRight(path, "/") + "/" + escape(name)
	if ok {
		url += "?" + query
	}
	return url
}
