package rpcrdma_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// configFields are the fields of Config that have bounds: with values that are out of range or
// contradict others, and with those at their bounds.
var configFields = []struct {
	name      string
	bad, good []rpcrdma.Config
}{
	{"InlineSend",
		[]rpcrdma.Config{
			{InlineSend: -1024}, {InlineSend: 1}, {InlineSend: 5000}, {InlineSend: 65536 + 1024},
		},
		[]rpcrdma.Config{{InlineSend: 1024}, {InlineSend: 65536}}},
	{"InlineRecv",
		[]rpcrdma.Config{
			{InlineRecv: -1024}, {InlineRecv: 1023}, {InlineRecv: 2047}, {InlineRecv: 65536 + 1024},
		},
		[]rpcrdma.Config{{InlineRecv: 1024}, {InlineRecv: 65536}}},
	{"Credits",
		[]rpcrdma.Config{{Credits: -1}, {Credits: math.MaxInt32 + 1}},
		[]rpcrdma.Config{{Credits: 1}, {Credits: math.MaxInt32}}},
	{"MinChunk",
		[]rpcrdma.Config{{MinChunk: -1}},
		[]rpcrdma.Config{{MinChunk: 1}, {MinChunk: math.MaxInt}}},
	{"ChunkFrom",
		[]rpcrdma.Config{{ChunkFrom: -1}},
		[]rpcrdma.Config{{ChunkFrom: 1}, {ChunkFrom: math.MaxInt}}},
	{"SegmentSize",
		[]rpcrdma.Config{{SegmentSize: -1}, {SegmentSize: 1<<10 - 1}, {SegmentSize: 1<<30 + 1}},
		[]rpcrdma.Config{{SegmentSize: 1 << 10}, {SegmentSize: 1 << 30}}},
	{"MaxMessage",
		[]rpcrdma.Config{{MaxMessage: -1}, {MaxMessage: 64<<10 - 1}, {MaxMessage: 1<<30 + 1}},
		[]rpcrdma.Config{{MaxMessage: 64 << 10}, {MaxMessage: 1 << 30}}},
	{"ConnMemory",
		[]rpcrdma.Config{
			{ConnMemory: -1}, {ConnMemory: 128<<10 - 1}, {MaxMessage: 1 << 20, ConnMemory: 2<<20 - 1},
		},
		[]rpcrdma.Config{{ConnMemory: 128 << 10}, {ConnMemory: 1 << 40}}},
	{"ServerMemory",
		[]rpcrdma.Config{
			{ServerMemory: -1}, {ServerMemory: 128<<10 - 1}, {MaxMessage: 1 << 30, ServerMemory: 2<<30 - 1},
			{ConnMemory: 1 << 30, ServerMemory: 1<<30 - 1},
		},
		[]rpcrdma.Config{{ServerMemory: 128 << 10}, {ServerMemory: 1 << 40}}},
	{"ReceiveMemory",
		[]rpcrdma.Config{{ReceiveMemory: -1}},
		[]rpcrdma.Config{{ReceiveMemory: 1}, {ReceiveMemory: 1 << 40}}},
	{"CancelGrace", []rpcrdma.Config{{CancelGrace: -1}}, []rpcrdma.Config{{CancelGrace: 1}}},
	{"PeerTimeout",
		[]rpcrdma.Config{{PeerTimeout: -1}},
		[]rpcrdma.Config{{PeerTimeout: math.MaxInt64}}},
	{"LimitBackwardCalls",
		[]rpcrdma.Config{{Dialect: rpcrdma.Draft, LimitBackwardCalls: true}},
		[]rpcrdma.Config{{LimitBackwardCalls: true}}},
	{"Dialect",
		[]rpcrdma.Config{{Dialect: rpcrdma.Draft + 1}},
		[]rpcrdma.Config{{Dialect: rpcrdma.Draft}}},
	// Only the Draft looks at these.
	{"Align",
		draftConfigs([]rpcrdma.Config{
			{Align: -64}, {Align: 32}, {Align: 96}, {Align: 65536}, {InlineRecv: 8192, Align: 8192},
		}),
		append(
			draftConfigs([]rpcrdma.Config{{Align: 64}, {Align: 32768}, {InlineRecv: 8192, Align: 4096}}),
			rpcrdma.Config{Align: -1, PadAbove: true, NoReplyChunks: true},
		)},
	{"PeerAlign",
		draftConfigs([]rpcrdma.Config{
			{PeerAlign: -8}, {PeerAlign: 4}, {PeerAlign: 12}, {PeerAlign: 65536},
		}),
		append(draftConfigs([]rpcrdma.Config{{PeerAlign: 8}, {PeerAlign: 32768}}),
			rpcrdma.Config{PeerAlign: 3})},
}

func draftConfigs(cfgs []rpcrdma.Config) []rpcrdma.Config {
	for i := range cfgs {
		cfgs[i].Dialect = rpcrdma.Draft
	}
	return cfgs
}

// TestConfigErrors: with a bad Config, Dial and Serve fail before they begin anything.
func TestConfigErrors(t *testing.T) {
	for _, field := range configFields {
		for _, cfg := range field.bad {
			value := reflect.ValueOf(cfg).FieldByName(field.name).Interface()
			t.Run(fmt.Sprintf("%s/%v", field.name, value), func(t *testing.T) {
				check := func(function string, err error) {
					t.Helper()
					var wrong *oncrpc.ConfigError
					if !errors.As(err, &wrong) || wrong.Config != "rpcrdma.Config" ||
						wrong.Field != field.name || wrong.Value != value {
						t.Errorf("%s: got %v, want an error about %s, %v", function, err, field.name, value)
					}
				}
				c, err := rpcrdma.Dial(t.Context(), loopback.New().Dialer(loopback.Config{}), "nowhere", cfg)
				check("Dial", err)
				if c != nil {
					t.Errorf("got connection %v", c)
				}
				f := loopback.New()
				l, err := f.Listen(rigAddr, loopback.Config{})
				if err != nil {
					t.Fatal(err)
				}
				s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
				check("Serve", rpcrdma.Serve(t.Context(), l, s, cfg))
				_, err = f.Dialer(loopback.Config{}).Dial(t.Context(), rigAddr, nil)
				if !errors.Is(err, loopback.ErrRefused) {
					t.Errorf("the listener is not closed: got error %v", err)
				}
			})
		}
	}
}

// TestConfigAlone sets single fields to their bounds, at both ends of a connection. It works.
func TestConfigAlone(t *testing.T) {
	for _, field := range configFields {
		for _, cfg := range field.good {
			value := reflect.ValueOf(cfg).FieldByName(field.name).Interface()
			t.Run(fmt.Sprintf("%s/%v", field.name, value), func(t *testing.T) {
				c := newRig(t, cfg).dial(cfg)
				if err := echo(c, &items{data: [][]byte{pattern(1, 20_000)}, tail: 7}, true); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
