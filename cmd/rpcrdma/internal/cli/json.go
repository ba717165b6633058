package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// AddJSONFlag defines the flag of a command that prints JSON on request.
func AddJSONFlag(f *pflag.FlagSet, on *bool, what string) {
	f.BoolVar(on, "json", false, "print JSON: "+what+"; docs/json.md has the fields")
}

// WriteJSON writes a value on a line of its own.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
