package main

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestServeProtocol: clients see the settings of the flags for iWARP and RPC-over-RDMA.
func TestServeProtocol(t *testing.T) {
	type met struct {
		crc, markers bool
		inline       int // what the client may send
		grant        int
	}
	for _, tt := range []struct {
		args string
		want met
	}{
		{"", met{false, false, 4096, 64}}, // CRC is off on loopback addresses
		{"--crc on", met{true, false, 4096, 64}},
		{"--crc off --markers", met{false, true, 4096, 64}},
		{"--inline 1024 --credits 1", met{false, false, 1024, 1}},
		{"--inline 65536 --credits 4096", met{false, false, 65536, 4096}},
		{"--inline 8KiB", met{false, false, 8192, 64}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			s := startServe(t, append(strings.Fields(tt.args), "--memory", "/export")...)
			c, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{Config: iwarp.Config{RecvDepth: 10_000}}, s.rdma,
				rpcrdma.Config{InlineSend: rpcrdma.MaxInline, InlineRecv: rpcrdma.MaxInline, Credits: 5000})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				c.Close()
				<-c.Done()
			}()
			if err := user(t, c, 0).Null(t.Context()); err != nil {
				t.Fatal(err)
			}
			setup, _ := iwarp.SetupOf(c.Endpoint())
			got := met{crc: setup.CRC, markers: setup.MarkersOut}
			got.inline, _ = c.Inline()
			got.grant, _, _ = c.Credits()
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if setup.MarkersIn {
				t.Error("the server sends markers, which nobody has asked for")
			}
		})
	}
}
