package report

import (
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	WriteTable(os.Stdout, quick())
	WriteTable(os.Stdout, sample())
}
