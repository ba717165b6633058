//go:build !linux || mpaportable

package mpa

// The build tag mpaportable has Linux do as other systems do, so that it can be tested there:
//
//	go test -tags mpaportable ./transport/iwarp/...

// open has TCP written and read like everything else.
func (c *Conn) open() error {
	c.openPlain()
	return nil
}

// These are not needed here.
type (
	vector    struct{}
	rawInput  struct{}
	rawOutput struct{}
)
