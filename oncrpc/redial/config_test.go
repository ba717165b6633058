package redial_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// If a field is out of range, nothing is dialled.
func TestConfigErrors(t *testing.T) {
	dial := func(context.Context) (oncrpc.Transport, error) {
		t.Error("dialled")
		return nil, errors.New("dialled")
	}
	c, err := redial.New(t.Context(), dial, redial.Config{Conns: -1})
	var wrong *oncrpc.ConfigError
	want := oncrpc.ConfigError{Config: "redial.Config", Field: "Conns", Value: -1,
		Want: "1 or more, or 0 for the default"}
	if c != nil || !errors.As(err, &wrong) || *wrong != want {
		t.Errorf("got %v, error %v, want %+v", c, err, want)
	}
	if got, want := err.Error(), "redial.Config.Conns is -1: it must be 1 or more, or 0 for the default"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// With one field set, a call works.
func TestConfigAlone(t *testing.T) {
	for name, cfg := range map[string]redial.Config{
		"nothing":                   {},
		"one connection":            {Conns: 1},
		"many connections":          {Conns: 1 << 20},
		"Wait":                      {Wait: time.Second},
		"no end of waiting":         {Wait: -1},
		"a Stall":                   {Stall: time.Minute},
		"a Stall that is not found": {Stall: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newFakeHost()
				c := p.connect(t, cfg)
				done := start(t.Context(), c, exchange(true))
				p.conn(t, 0).next(t).answer <- nil
				returned(t, done, nil)
			})
		})
	}
}
