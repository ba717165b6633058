package gateway_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/gateway"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// nowhere is a Dial that is never called.
func nowhere(context.Context) (oncrpc.Transport, error) { return nil, errors.New("nowhere") }

// TestConfigErrors has fields that are out of range or contradict each other.
func TestConfigErrors(t *testing.T) {
	const most = 1<<30 - 4<<10
	for _, tt := range []struct {
		name  string
		cfg   gateway.Config
		field string
		value any
	}{
		{"no Dial", gateway.Config{}, "Dial", nil},
		{"no Dial of a route", gateway.Config{Dial: nowhere, Routes: map[uint32]gateway.Route{7: {}}},
			"Routes[7].Dial", nil},
		{"MaxReply below 0", gateway.Config{Dial: nowhere, MaxReply: -1}, "MaxReply", -1},
		{"MaxReply too small", gateway.Config{Dial: nowhere, MaxReply: 4<<10 - 1}, "MaxReply", 4<<10 - 1},
		{"MaxReply too large", gateway.Config{Dial: nowhere, MaxReply: most + 1}, "MaxReply", most + 1},
		{"ConnMemory below 0", gateway.Config{Dial: nowhere, ConnMemory: -1}, "ConnMemory", int64(-1)},
		{"ConnMemory too small", gateway.Config{Dial: nowhere, ConnMemory: 8<<10 - 1},
			"ConnMemory", int64(8<<10 - 1)},
		{"ConnMemory for MaxReply",
			gateway.Config{Dial: nowhere, MaxReply: 1 << 20, ConnMemory: 2<<20 - 1},
			"ConnMemory", int64(2<<20 - 1)},
		{"Memory below 0", gateway.Config{Dial: nowhere, Memory: -1}, "Memory", int64(-1)},
		{"Memory too small", gateway.Config{Dial: nowhere, Memory: 8<<10 - 1},
			"Memory", int64(8<<10 - 1)},
		{"Memory for MaxReply", gateway.Config{Dial: nowhere, MaxReply: 1 << 20, Memory: 2<<20 - 1},
			"Memory", int64(2<<20 - 1)},
		{"Memory for ConnMemory", gateway.Config{Dial: nowhere, ConnMemory: 1 << 20, Memory: 1<<20 - 1},
			"Memory", int64(1<<20 - 1)},
		{"DialTimeout below 0", gateway.Config{Dial: nowhere, DialTimeout: -1},
			"DialTimeout", time.Duration(-1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := gateway.New(tt.cfg)
			var wrong *oncrpc.ConfigError
			if g != nil || !errors.As(err, &wrong) || wrong.Config != "gateway.Config" ||
				wrong.Field != tt.field || wrong.Value != tt.value {
				t.Errorf("got %v, %+v, want an error about %s, %v", g, wrong, tt.field, tt.value)
			}
		})
	}
}

// TestConfigBounds has the smallest and the largest values, and each field set alone.
func TestConfigBounds(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cfg        gateway.Config
		maxMessage int
	}{
		{"nothing set", gateway.Config{}, 1<<20 + 4<<10},
		{"the smallest MaxReply", gateway.Config{MaxReply: 4 << 10}, 8 << 10},
		{"an odd MaxReply", gateway.Config{MaxReply: 100_001}, 100_004 + 4<<10},
		{"the largest MaxReply", gateway.Config{MaxReply: 1<<30 - 4<<10}, 1 << 30},
		{"ConnMemory of one call", gateway.Config{ConnMemory: 2 << 20}, 1<<20 + 4<<10},
		{"less ConnMemory", gateway.Config{ConnMemory: 2<<20 - 1}, 1 << 20},
		{"the least ConnMemory", gateway.Config{ConnMemory: 8 << 10}, 8 << 10},
		{"much ConnMemory", gateway.Config{ConnMemory: 1 << 40}, 1<<20 + 4<<10},
		{"Memory of one call", gateway.Config{Memory: 2 << 20}, 1<<20 + 4<<10},
		{"less Memory", gateway.Config{Memory: 2<<20 - 1}, 1 << 20},
		{"the least Memory", gateway.Config{Memory: 8 << 10}, 8 << 10},
		{"much Memory", gateway.Config{Memory: 1 << 40}, 1<<20 + 4<<10},
		{"all that one call takes",
			gateway.Config{MaxReply: 1 << 20, ConnMemory: 2 << 20, Memory: 2 << 20}, 1<<20 + 4<<10},
		{"DialTimeout", gateway.Config{DialTimeout: 1}, 1<<20 + 4<<10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Dial = nowhere
			g, err := gateway.New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			g.Close()
			if got := tt.cfg.MaxMessage(); got != tt.maxMessage {
				t.Errorf("a message may have %d bytes, want %d", got, tt.maxMessage)
			}
		})
	}
}
