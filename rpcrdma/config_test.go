package rpcrdma_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// unusedDialer is a Dialer that is not to be asked.
type unusedDialer struct{ t *testing.T }

func (d unusedDialer) Dial(context.Context, string, transport.Preparation) (
	transport.Endpoint, error) {
	d.t.Error("dialled")
	return nil, errors.New("dialled")
}

func (d unusedDialer) MaxPrivateData() int { return 512 }

// TestConfigErrors sets fields that are out of range or contradict others. Dial and Serve fail
// before they begin anything.
func TestConfigErrors(t *testing.T) {
	const draft = rpcrdma.Draft
	bytes := func(n int64) int64 { return n }
	const tooMany = math.MaxInt32 + 1
	for _, tt := range []struct {
		name  string
		cfg   rpcrdma.Config
		field string
		value any
	}{
		{"LimitBackwardCalls in the Draft", rpcrdma.Config{Dialect: draft, LimitBackwardCalls: true},
			"LimitBackwardCalls", true},
		{"InlineSend below 0", rpcrdma.Config{InlineSend: -1024}, "InlineSend", -1024},
		{"InlineSend too small", rpcrdma.Config{InlineSend: 1}, "InlineSend", 1},
		{"InlineSend of no unit", rpcrdma.Config{InlineSend: 5000}, "InlineSend", 5000},
		{"InlineSend too large", rpcrdma.Config{InlineSend: 65536 + 1024}, "InlineSend", 65536 + 1024},
		{"InlineRecv below 0", rpcrdma.Config{InlineRecv: -1024}, "InlineRecv", -1024},
		{"InlineRecv too small", rpcrdma.Config{InlineRecv: 1023}, "InlineRecv", 1023},
		{"InlineRecv of no unit", rpcrdma.Config{InlineRecv: 2047}, "InlineRecv", 2047},
		{"InlineRecv too large", rpcrdma.Config{InlineRecv: 65536 + 1024}, "InlineRecv", 65536 + 1024},
		{"Credits below 0", rpcrdma.Config{Credits: -1}, "Credits", -1},
		{"Credits too many", rpcrdma.Config{Credits: tooMany}, "Credits", tooMany},
		{"MinChunk below 0", rpcrdma.Config{MinChunk: -1}, "MinChunk", -1},
		{"ChunkFrom below 0", rpcrdma.Config{ChunkFrom: -1}, "ChunkFrom", -1},
		{"SegmentSize below 0", rpcrdma.Config{SegmentSize: -1}, "SegmentSize", -1},
		{"SegmentSize too small", rpcrdma.Config{SegmentSize: 1023}, "SegmentSize", 1023},
		{"SegmentSize too large", rpcrdma.Config{SegmentSize: 1<<30 + 1}, "SegmentSize", 1<<30 + 1},
		{"MaxMessage below 0", rpcrdma.Config{MaxMessage: -1}, "MaxMessage", -1},
		{"MaxMessage too small", rpcrdma.Config{MaxMessage: 65535}, "MaxMessage", 65535},
		{"MaxMessage too large", rpcrdma.Config{MaxMessage: 1<<30 + 1}, "MaxMessage", 1<<30 + 1},
		{"ConnMemory below 0", rpcrdma.Config{ConnMemory: -1}, "ConnMemory", bytes(-1)},
		{"ConnMemory for the smallest MaxMessage", rpcrdma.Config{ConnMemory: 131071},
			"ConnMemory", bytes(131071)},
		{"ConnMemory for MaxMessage", rpcrdma.Config{MaxMessage: 1 << 20, ConnMemory: 2<<20 - 1},
			"ConnMemory", bytes(2<<20 - 1)},
		{"ServerMemory below 0", rpcrdma.Config{ServerMemory: -1}, "ServerMemory", bytes(-1)},
		{"ServerMemory for the smallest MaxMessage", rpcrdma.Config{ServerMemory: 131071},
			"ServerMemory", bytes(131071)},
		{"ServerMemory for MaxMessage", rpcrdma.Config{MaxMessage: 1 << 30, ServerMemory: 2<<30 - 1},
			"ServerMemory", bytes(2<<30 - 1)},
		{"ServerMemory for ConnMemory", rpcrdma.Config{ConnMemory: 1 << 30, ServerMemory: 1<<30 - 1},
			"ServerMemory", bytes(1<<30 - 1)},
		{"ReceiveMemory below 0", rpcrdma.Config{ReceiveMemory: -1}, "ReceiveMemory", bytes(-1)},
		{"CancelGrace below 0", rpcrdma.Config{CancelGrace: -1}, "CancelGrace", time.Duration(-1)},
		{"PeerTimeout below 0", rpcrdma.Config{PeerTimeout: -1}, "PeerTimeout", time.Duration(-1)},
		{"unknown Dialect", rpcrdma.Config{Dialect: draft + 1}, "Dialect", draft + 1},
		{"Align below 0", rpcrdma.Config{Dialect: draft, Align: -64}, "Align", -64},
		{"Align too small", rpcrdma.Config{Dialect: draft, Align: 32}, "Align", 32},
		{"Align no power of two", rpcrdma.Config{Dialect: draft, Align: 96}, "Align", 96},
		{"Align too large", rpcrdma.Config{Dialect: draft, Align: 65536}, "Align", 65536},
		{"Align for InlineRecv", rpcrdma.Config{Dialect: draft, InlineRecv: 8192, Align: 8192},
			"Align", 8192},
		{"PeerAlign below 0", rpcrdma.Config{Dialect: draft, PeerAlign: -8}, "PeerAlign", -8},
		{"PeerAlign too small", rpcrdma.Config{Dialect: draft, PeerAlign: 4}, "PeerAlign", 4},
		{"PeerAlign no power of two", rpcrdma.Config{Dialect: draft, PeerAlign: 12}, "PeerAlign", 12},
		{"PeerAlign too large", rpcrdma.Config{Dialect: draft, PeerAlign: 65536}, "PeerAlign", 65536},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(function string, err error) {
				t.Helper()
				var wrong *oncrpc.ConfigError
				if !errors.As(err, &wrong) || wrong.Config != "rpcrdma.Config" ||
					wrong.Field != tt.field || wrong.Value != tt.value {
					t.Errorf("%s: got %v, want an error about %s, %v", function, err, tt.field, tt.value)
				}
			}
			c, err := rpcrdma.Dial(t.Context(), unusedDialer{t}, "nowhere", tt.cfg)
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
			check("Serve", rpcrdma.Serve(t.Context(), l, s, tt.cfg))
			_, err = f.Dialer(loopback.Config{}).Dial(t.Context(), rigAddr, nil)
			if !errors.Is(err, loopback.ErrRefused) {
				t.Errorf("the listener is not closed: got error %v", err)
			}
		})
	}
}

// TestConfigAlone sets single fields to their bounds, at both ends of a connection. It works.
func TestConfigAlone(t *testing.T) {
	const draft = rpcrdma.Draft
	for name, cfg := range map[string]rpcrdma.Config{
		"nothing":                      {},
		"the smallest InlineSend":      {InlineSend: 1024},
		"the largest InlineSend":       {InlineSend: 65536},
		"the smallest InlineRecv":      {InlineRecv: 1024},
		"the largest InlineRecv":       {InlineRecv: 65536},
		"one credit":                   {Credits: 1},
		"the most credits":             {Credits: math.MaxInt32},
		"the smallest MinChunk":        {MinChunk: 1},
		"a MinChunk never reached":     {MinChunk: math.MaxInt},
		"the smallest ChunkFrom":       {ChunkFrom: 1},
		"a ChunkFrom never reached":    {ChunkFrom: math.MaxInt},
		"the smallest SegmentSize":     {SegmentSize: 1 << 10},
		"the largest SegmentSize":      {SegmentSize: 1 << 30},
		"the smallest MaxMessage":      {MaxMessage: 64 << 10},
		"the largest MaxMessage":       {MaxMessage: 1 << 30},
		"the least ConnMemory":         {ConnMemory: 128 << 10},
		"more ConnMemory than for all": {ConnMemory: 1 << 40},
		"the least ServerMemory":       {ServerMemory: 128 << 10},
		"much ServerMemory":            {ServerMemory: 1 << 40},
		"the least ReceiveMemory":      {ReceiveMemory: 1},
		"much ReceiveMemory":           {ReceiveMemory: 1 << 40},
		"CancelGrace":                  {CancelGrace: 1},
		"PeerTimeout":                  {PeerTimeout: math.MaxInt64},
		"the draft":                    {Dialect: draft},
		"the smallest Align":           {Dialect: draft, Align: 64},
		"the largest Align":            {Dialect: draft, Align: 32768},
		"Align of half":                {Dialect: draft, InlineRecv: 8192, Align: 4096},
		"the smallest PeerAlign":       {Dialect: draft, PeerAlign: 8},
		"the largest PeerAlign":        {Dialect: draft, PeerAlign: 32768},
		"what is of the draft":         {Align: -1, PeerAlign: 3, PadAbove: true, NoReplyChunks: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, cfg)
			c := client(r.dial(cfg))
			args := &items{data: [][]byte{pattern(1, 20_000)}, tail: 7}
			got := &items{data: [][]byte{make([]byte, 20_000)}, land: true}
			err := c.Do(t.Context(), &oncrpc.Request{
				Procedure: procEcho, Args: args, Reply: got, MaxReply: args.len(), Results: got.data,
			})
			if err != nil {
				t.Fatal(err)
			}
			if string(got.data[0]) != string(args.data[0]) || got.tail != 7 {
				t.Error("other bytes came back")
			}
		})
	}
}
