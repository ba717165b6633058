// Package notes is what the compiler of github.com/buildbarn/go-xdr makes of notes.x: the program
// that the example of package goxdr serves and calls.
package notes

// The compiler does not truncate its output, and does not format it.
//go:generate rm -f notes.go
//go:generate go tool xdr_compiler -I . notes.x notes.go
//go:generate gofmt -w notes.go
