package mpa_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// numbers returns n bytes of ascending 16-bit numbers.
func numbers(n int) []byte {
	var b []byte
	for i := range uint16(n/2 + 1) {
		b = binary.BigEndian.AppendUint16(b, i)
	}
	return b[:n]
}

// privateLimits are limits, and the most private data then sent without and with enhanced data.
var privateLimits = []struct{ limit, plain, enhanced int }{
	{0, 512, 508},
	{512, 512, 508},
	{511, 511, 507},
	{256, 256, 252},
	{5, 5, 1},
	{4, 4, 0},
}

func TestPrivateLimitOfInitiator(t *testing.T) {
	for _, l := range privateLimits {
		for _, tt := range []struct {
			mode          mpa.Enhanced
			request, data string
			reply         string
			most          int
		}{
			{mpa.EnhancedNever, "00 01", "", "00 01 0000", l.plain},
			{mpa.EnhancedAuto, "10 02", "00000000", "10 02 0004 00000000", l.enhanced},
		} {
			t.Run(fmt.Sprintf("%d of %d", tt.most, l.limit), func(t *testing.T) {
				cfg := mpa.Config{Enhanced: tt.mode, PrivateLimit: l.limit}
				private := numbers(tt.most + 1)
				said, _, err := initiateTo(t, cfg, private[:tt.most], repFrame(t, tt.reply))
				if err != nil {
					t.Fatal(err)
				}
				data := unhex(t, tt.data)
				want := reqFrame(t, fmt.Sprintf("%s %04x %s", tt.request, len(data)+tt.most, tt.data))
				if diff := cmp.Diff(append(want, private[:tt.most]...), said); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
				conn := &scriptedPeer{}
				if _, err := mpa.Initiate(conn, cfg, private); !errors.Is(err, transport.ErrPrivateData) || conn.out.Len() > 0 {
					t.Errorf("a byte more: got %v, and %d bytes written, want %v", err, conn.out.Len(), transport.ErrPrivateData)
				}
			})
		}
	}
}

func TestPrivateLimitOfResponder(t *testing.T) {
	for _, l := range privateLimits {
		for _, tt := range []struct {
			name                 string
			request, reply, data string
			most                 int
			answer               func(*mpa.Request, mpa.Config, []byte) error
		}{
			{"accept", "00 01 0000", "00 01", "", l.plain, accept},
			{"accept, enhanced", "10 02 0004 00000000", "10 02", "00000000", l.enhanced, accept},
			{"reject", "00 01 0000", "20 01", "", l.plain, (*mpa.Request).Reject},
			{"reject, enhanced", "10 02 0004 00000000", "30 02", "00000000", l.enhanced, (*mpa.Request).Reject},
		} {
			t.Run(fmt.Sprintf("%s, %d of %d", tt.name, tt.most, l.limit), func(t *testing.T) {
				cfg := mpa.Config{PrivateLimit: l.limit}
				private := numbers(tt.most + 1)
				said := answerTo(t, reqFrame(t, tt.request), func(conn net.Conn) {
					r, err := mpa.ReadRequest(conn)
					if err != nil {
						t.Fatal(err)
					}
					if err := tt.answer(r, cfg, private); !errors.Is(err, transport.ErrPrivateData) {
						t.Errorf("a byte more: got %v, want %v", err, transport.ErrPrivateData)
					}
					if err := tt.answer(r, cfg, private[:tt.most]); err != nil {
						t.Error(err)
					}
				})
				data := unhex(t, tt.data)
				want := repFrame(t, fmt.Sprintf("%s %04x %s", tt.reply, len(data)+tt.most, tt.data))
				if diff := cmp.Diff(append(want, private[:tt.most]...), said); diff != "" {
					t.Errorf("reply (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func accept(r *mpa.Request, cfg mpa.Config, private []byte) error {
	_, err := r.Accept(cfg, private)
	return err
}

// The limit applies to what is sent. What is received may be as long as a frame allows.
func TestPrivateLimitIsNotThePeers(t *testing.T) {
	cfg := mpa.Config{Enhanced: mpa.EnhancedNever, PrivateLimit: 4}
	private := numbers(512)
	_, s, err := initiateTo(t, cfg, nil, append(repFrame(t, "00 01 0200"), private...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(private, s.PrivateData); diff != "" {
		t.Errorf("private data (-want +got):\n%s", diff)
	}
	_, s, err = acceptFrom(t, append(reqFrame(t, "00 01 0200"), private...), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(private, s.PrivateData); diff != "" {
		t.Errorf("private data (-want +got):\n%s", diff)
	}
}

// Limits too small for the enhanced data, or too large, are errors.
func TestPrivateLimitOutOfRange(t *testing.T) {
	for _, limit := range []int{-1, 1, 2, 3, 513, 1 << 20} {
		cfg := mpa.Config{PrivateLimit: limit}
		conn := &scriptedPeer{in: io.MultiReader()}
		if _, err := mpa.Initiate(conn, cfg, nil); !errors.Is(err, mpa.ErrConfig) || conn.out.Len() > 0 {
			t.Errorf("initiator, %d: got %v, and %d bytes written, want %v", limit, err, conn.out.Len(), mpa.ErrConfig)
		}
		if err := cfg.ValidateResponder(); !errors.Is(err, mpa.ErrConfig) {
			t.Errorf("responder, %d: got %v, want %v", limit, err, mpa.ErrConfig)
		}
	}
}
