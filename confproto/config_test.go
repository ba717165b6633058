package confproto

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Sizes out of range are reported by name: by Configure as its error, by New as a panic.
func TestConfigErrors(t *testing.T) {
	for _, n := range []int{-1, MinSize - 1, MaxSize + 1} {
		for field, o := range map[string]Options{"MaxCall": {MaxCall: n}, "MaxReply": {MaxReply: n}} {
			_, err := Configure(t.Context(), nil, o) // nothing is sent
			var wrong *oncrpc.ConfigError
			if !errors.As(err, &wrong) || wrong.Config != "confproto.Options" || wrong.Field != field || wrong.Value != n {
				t.Errorf("%s %d: got %v", field, n, err)
			}
		}
		func() {
			defer func() {
				wrong, _ := recover().(*oncrpc.ConfigError)
				if wrong == nil || wrong.Config != "confproto.Config" || wrong.Field != "MaxCall" {
					t.Errorf("MaxCall %d: panic with %v", n, wrong)
				}
			}()
			New(Config{MaxCall: n})
		}()
	}
}
