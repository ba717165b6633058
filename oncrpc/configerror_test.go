package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// NewServer panics with the wrong field.
func TestServerConfigErrors(t *testing.T) {
	pass := func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
		return next(ctx, c)
	}
	for _, tt := range []struct {
		name string
		cfg  oncrpc.ServerConfig
		want string
	}{
		{"MaxConcurrent below 0", oncrpc.ServerConfig{MaxConcurrent: -1},
			"oncrpc.ServerConfig.MaxConcurrent is -1: it must be 0 or more"},
		{"no flavour", oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{oncrpc.AcceptAuthSys(), nil}},
			"oncrpc.ServerConfig.Flavors[1] is <nil>: it must be a flavour"},
		{"no interceptor", oncrpc.ServerConfig{Interceptors: []oncrpc.ServerInterceptor{pass, nil}},
			"oncrpc.ServerConfig.Interceptors[1] is <nil>: it must be a function"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				err, _ := recover().(error)
				var wrong *oncrpc.ConfigError
				if !errors.As(err, &wrong) || wrong.Error() != tt.want {
					t.Errorf("got panic %v, want %s", err, tt.want)
				}
			}()
			oncrpc.NewServer(tt.cfg)
		})
	}
}

// With one field set, the server answers a call.
func TestServerConfigAlone(t *testing.T) {
	nothing := func(context.Context, *oncrpc.Call) error { return nil }
	for name, cfg := range map[string]oncrpc.ServerConfig{
		"nothing":                {},
		"one handler at a time":  {MaxConcurrent: 1},
		"any number of handlers": {MaxConcurrent: math.MaxInt},
		"no cache of replies":    {ReplyMemory: -1},
		"one reply":              {ReplyMemory: 1},
		"one flavour":            {Flavors: []oncrpc.ServerFlavor{oncrpc.AcceptAuthNone()}},
		"no interceptors":        {Interceptors: []oncrpc.ServerInterceptor{}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, once := range []bool{false, true} {
				s := newServer(t, cfg, oncrpc.Procedure{Handler: nothing, Once: once})
				got, want := dispatch(t, s, callBytes(0x01020304, 1)), unhex(t, accepted+"00000000")
				if !bytes.Equal(got, want) {
					t.Errorf("got %x, want %x", got, want)
				}
			}
		})
	}
}
