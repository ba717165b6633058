//go:build !linux || mpaportable

package mpa

// The build tag mpaportable makes Linux behave like other systems, so that this can be tested
// there:
//
//	go test -tags mpaportable ./transport/iwarp/...

// open reads and writes TCP like everything else.
func (c *Conn) open() error {
	c.openPlain()
	return nil
}

// These types are used on Linux only.
type (
	vector    struct{}
	rawInput  struct{}
	rawOutput struct{}
)
