// Package notes is generated from notes.x by the compiler of github.com/buildbarn/go-xdr. The
// example of package goxdr serves and calls its program.
package notes

// The compiler does not truncate its output, and does not format it.
//go:generate rm -f notes.go
//go:generate go tool xdr_compiler -I . notes.x notes.go
//go:generate gofmt -w notes.go
