package rpcrdma_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadme checks that the program in the README is the one in example_test.go, which is compiled
// and run.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, ok := strings.Cut(string(example), "package rpcrdma_test\n\n")
	if !ok || !strings.Contains(string(readme), "```go\n"+program+"```") {
		t.Error("the README shows another program than example_test.go")
	}
}
