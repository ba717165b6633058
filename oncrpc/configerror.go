package oncrpc

import "fmt"

// ConfigError is a field of a configuration whose value is out of range, or contradicts that of
// another field. The functions that take configurations return it before they send anything or
// listen: those of this package and of recordmark, redial, gateway and rpcrdma.
type ConfigError struct {
	Config string // the type, with its package: "rpcrdma.Config"
	Field  string // its name: "Align"
	Value  any    // what it is set to
	Want   string // what it must be: "a power of two from 64 to 32768"
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s.%s is %v: it must be %s", e.Config, e.Field, e.Value, e.Want)
}
