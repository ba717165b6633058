package iwarp_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// unusedListener is a net.Listener that must be neither used nor closed.
type unusedListener struct{ t *testing.T }

func (l unusedListener) Accept() (net.Conn, error) {
	l.t.Error("a connection is accepted")
	return nil, io.EOF
}

func (l unusedListener) Close() error {
	l.t.Error("closed")
	return nil
}

func (l unusedListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestConfigErrors has fields that are unknown, out of range, or contradictory. Nothing is dialled
// or listened to.
func TestConfigErrors(t *testing.T) {
	const dialer, listener = 1, 2
	for _, tt := range []struct {
		name string
		cfg  iwarp.Config
		of   int // the side that finds it; 0: both
		want string
	}{
		{"IRD too large", iwarp.Config{IRD: mpa.MaxReads + 1},
			0, "Config.IRD is 16383: it must be from 0 to 16382"},
		{"ORD too large", iwarp.Config{ORD: mpa.MaxReads + 1},
			0, "Config.ORD is 16383: it must be from 0 to 16382"},
		{"RequiredORD below 0", iwarp.Config{RequiredORD: -1},
			0, "Config.RequiredORD is -1: it must be from 0 to ORD, 16"},
		{"RequiredORD too large", iwarp.Config{RequiredORD: mpa.MaxReads + 1},
			0, "Config.RequiredORD is 16383: it must be from 0 to ORD, 16382"},
		{"RequiredORD for ORD", iwarp.Config{ORD: 4, RequiredORD: 5},
			0, "Config.RequiredORD is 5: it must be from 0 to ORD, 4"},
		{"RequiredORD without ORD", iwarp.Config{ORD: -1, RequiredORD: 1},
			0, "Config.RequiredORD is 1: it must be from 0 to ORD, 0"},
		{"RequiredORD with ManualReads", iwarp.Config{RequiredORD: 1, ManualReads: true},
			0, "Config.RequiredORD is 1: it must be 0 with ManualReads"},
		{"ManualReads without enhanced setup",
			iwarp.Config{ManualReads: true, Enhanced: mpa.EnhancedNever}, dialer,
			"Config.ManualReads is true: it must be false without enhanced setup"},
		{"PeerToPeer without enhanced setup", iwarp.Config{PeerToPeer: true, Enhanced: mpa.EnhancedNever},
			dialer,
			"Config.PeerToPeer is true: it must be false without enhanced setup"},
		{"SendDepth below 0", iwarp.Config{SendDepth: -1},
			0, "Config.SendDepth is -1: it must be 1 or more, or 0 for the default"},
		{"RecvDepth below 0", iwarp.Config{RecvDepth: -1},
			0, "Config.RecvDepth is -1: it must be 1 or more, or 0 for the default"},
		{"unknown Enhanced", iwarp.Config{Enhanced: 3},
			0, "Config.Enhanced is 3: it must be EnhancedAuto, EnhancedRequired or EnhancedNever"},
		{"Enhanced with version 0", iwarp.Config{Enhanced: mpa.EnhancedRequired, RNIC: mpa.RDMAC}, dialer,
			"Config.Enhanced is required: it must be EnhancedAuto or EnhancedNever"},
		{"unknown RTR", iwarp.Config{RTR: 1 << 3},
			0, "Config.RTR is 8: it must be some of RTRSend, RTRWrite and RTRRead, or 0 for all"},
		{"RTR by Read without IRD", iwarp.Config{RTR: mpa.RTRRead, IRD: -1},
			listener, "Config.IRD is 0: it must be 1 or more for an RTR by Read"},
		{"unknown CRC", iwarp.Config{CRC: 3}, 0, "Config.CRC is 3: it must be CRCAuto, CRCOn or CRCOff"},
		{"unknown RNIC", iwarp.Config{RNIC: 3},
			0, "Config.RNIC is 3: it must be NonPermissive, Permissive or RDMAC"},
		{"unknown Version", iwarp.Config{Version: 3},
			0, "Config.Version is 3: it must be VersionAny, VersionRDMAC or VersionIETF"},
		{"unknown Markers", iwarp.Config{Markers: 3},
			0, "Config.Markers is 3: it must be MarkersAuto, MarkersOn or MarkersOff"},
		{"PrivateLimit below 0", iwarp.Config{PrivateLimit: -1},
			0, "Config.PrivateLimit is -1: it must be from 4 to 512, or 0 for the default"},
		{"PrivateLimit too small", iwarp.Config{PrivateLimit: 3},
			0, "Config.PrivateLimit is 3: it must be from 4 to 512, or 0 for the default"},
		{"PrivateLimit too large", iwarp.Config{PrivateLimit: 513},
			0, "Config.PrivateLimit is 513: it must be from 4 to 512, or 0 for the default"},
		{"MaxSegment below 0", iwarp.Config{MaxSegment: -2},
			0, "Config.MaxSegment is -2: it must be from 64 to 65535"},
		{"MaxSegment too small", iwarp.Config{MaxSegment: 63},
			0, "Config.MaxSegment is 63: it must be from 64 to 65535"},
		{"MaxSegment too large", iwarp.Config{MaxSegment: 65536},
			0, "Config.MaxSegment is 65536: it must be from 64 to 65535"},
		{"HandshakeTimeout below 0", iwarp.Config{HandshakeTimeout: -1},
			0, "Config.HandshakeTimeout is -1ns: it must be above 0"},
		{"StallTimeout below 0", iwarp.Config{StallTimeout: -1},
			0, "Config.StallTimeout is -1ns: it must be above 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(function string, err error) {
				t.Helper()
				if !errors.Is(err, mpa.ErrConfig) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: got error %v, want %v: %s", function, err, mpa.ErrConfig, tt.want)
				}
			}
			if tt.of != listener {
				dial := func(context.Context, string, string) (net.Conn, error) {
					t.Error("dialled")
					return nil, io.EOF
				}
				_, err := iwarp.Dialer{Config: tt.cfg, DialContext: dial}.Dial(t.Context(), "nowhere", nil)
				check("Dial", err)
			}
			if tt.of != dialer {
				_, err := iwarp.Listen(t.Context(), "no address", tt.cfg)
				check("Listen", err)
				_, err = iwarp.NewListener(unusedListener{t}, tt.cfg)
				check("NewListener", err)
			}
		})
	}
}

// TestConfigAlone sets each field alone, at its bounds, at both ends of a connection, which must
// work.
func TestConfigAlone(t *testing.T) {
	const reads, depth = iwarp.DefaultReads, iwarp.DefaultDepth
	for name, tt := range map[string]struct {
		cfg          iwarp.Config
		ird, ord     int // of the dialing side
		sends, recvs int // depths
	}{
		"nothing":                 {iwarp.Config{}, reads, reads, depth, depth},
		"no IRD":                  {iwarp.Config{IRD: -1}, 0, 0, depth, depth},
		"the largest IRD":         {iwarp.Config{IRD: mpa.MaxReads}, mpa.MaxReads, reads, depth, depth},
		"no ORD":                  {iwarp.Config{ORD: -1}, reads, 0, depth, depth},
		"the largest ORD":         {iwarp.Config{ORD: mpa.MaxReads}, reads, reads, depth, depth},
		"the smallest depths":     {iwarp.Config{SendDepth: 1, RecvDepth: 1}, reads, reads, 1, 1},
		"any SendDepth":           {iwarp.Config{SendDepth: math.MaxInt}, reads, reads, math.MaxInt, depth},
		"any RecvDepth":           {iwarp.Config{RecvDepth: math.MaxInt}, reads, reads, depth, math.MaxInt},
		"the smallest MaxSegment": {iwarp.Config{MaxSegment: 64}, reads, reads, depth, depth},
		"the largest MaxSegment":  {iwarp.Config{MaxSegment: 65535}, reads, reads, depth, depth},
		"an FPDU a TCP segment":   {iwarp.Config{MaxSegment: mpa.FPDUPerTCPSegment}, reads, reads, depth, depth},
		"the least PrivateLimit":  {iwarp.Config{PrivateLimit: 4}, reads, reads, depth, depth},
		"the most PrivateLimit":   {iwarp.Config{PrivateLimit: 512}, reads, reads, depth, depth},
		"HandshakeTimeout":        {iwarp.Config{HandshakeTimeout: time.Hour}, reads, reads, depth, depth},
		"StallTimeout":            {iwarp.Config{StallTimeout: time.Hour}, reads, reads, depth, depth},
		"no nudge":                {iwarp.Config{NudgeAfter: -1}, reads, reads, depth, depth},
		"markers":                 {iwarp.Config{Markers: mpa.MarkersOff}, reads, reads, depth, depth},
		"CRC":                     {iwarp.Config{CRC: iwarp.CRCOff}, reads, reads, depth, depth},
		"no enhanced setup": {
			iwarp.Config{Enhanced: mpa.EnhancedNever}, reads, mpa.UnenhancedORD, depth, depth,
		},
		"RTR":         {iwarp.Config{RTR: mpa.RTRRead}, reads, reads, depth, depth},
		"PeerToPeer":  {iwarp.Config{PeerToPeer: true}, reads, reads, depth, depth},
		"RequiredORD": {iwarp.Config{RequiredORD: 16}, reads, reads, depth, depth},
		"ManualReads": {iwarp.Config{ManualReads: true}, reads, reads, depth, depth},
	} {
		t.Run(name, func(t *testing.T) {
			tt.cfg.Logger = quiet
			info, _ := connected(t, tt.cfg, tt.cfg)
			got := [...]int{info.IRD, info.ORD, info.SendDepth, info.RecvDepth}
			if want := [...]int{tt.ird, tt.ord, tt.sends, tt.recvs}; got != want {
				t.Errorf("got IRD, ORD and depths %v, want %v", got, want)
			}
		})
	}
	t.Run("RequiredORD above the default of ORD", func(t *testing.T) {
		cfg := iwarp.Config{RequiredORD: 100, Logger: quiet}
		if _, info := connected(t, iwarp.Config{IRD: 200, Logger: quiet}, cfg); info.ORD != 100 {
			t.Errorf("got %+v, want an ORD of 100", info)
		}
	})
}

// connected returns the Info of the dialing and of the listening side.
func connected(t *testing.T, dialing, listening iwarp.Config) (dialed, accepted transport.Info) {
	t.Helper()
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", listening)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there := make(chan transport.Endpoint, 1)
	go func() {
		defer close(there)
		r, err := l.Accept(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		ep, err := r.Accept(t.Context(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		there <- ep
	}()
	a, err := iwarp.Dialer{Config: dialing}.Dial(t.Context(), l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := <-there
	if !ok {
		a.Close()
		t.FailNow()
	}
	for _, ep := range []transport.Endpoint{a, b} {
		ep.Close()
		defer func() { <-ep.Done() }()
	}
	return a.Info(), b.Info()
}
