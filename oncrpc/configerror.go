package oncrpc

import "fmt"

// ConfigError says that a field of a configuration is out of range or contradicts another field.
// Functions of this package, recordmark, redial, gateway and rpcrdma that take a configuration
// return it before they listen or send anything.
type ConfigError struct {
	Config string // the type, with its package: "rpcrdma.Config"
	Field  string // its name: "Align"
	Value  any    // what it is set to
	Want   string // what it must be: "a power of two from 64 to 32768"
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s.%s is %v: it must be %s", e.Config, e.Field, e.Value, e.Want)
}
