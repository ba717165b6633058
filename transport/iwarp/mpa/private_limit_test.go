package mpa

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// privateLimits are limits, and how much private data is sent at most, without and with enhanced data.
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
			mode          Enhanced
			request, data string
			reply         string
			most          int
		}{
			{EnhancedNever, "00 01", "", "00 01 0000", l.plain},
			{EnhancedAuto, "10 02", "00000000", "10 02 0004 00000000", l.enhanced},
		} {
			t.Run(fmt.Sprintf("%d of %d", tt.most, l.limit), func(t *testing.T) {
				cfg := Config{Enhanced: tt.mode, PrivateLimit: l.limit}
				private := text(tt.most+1, 1)
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
				if _, err := Initiate(conn, cfg, private); !errors.Is(err, transport.ErrPrivateData) || conn.out.Len() > 0 {
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
			answer               func(*Request, Config, []byte) error
		}{
			{"accept", "00 01 0000", "00 01", "", l.plain, (*Request).accept},
			{"accept, enhanced", "10 02 0004 00000000", "10 02", "00000000", l.enhanced, (*Request).accept},
			{"reject", "00 01 0000", "20 01", "", l.plain, (*Request).reject},
			{"reject, enhanced", "10 02 0004 00000000", "30 02", "00000000", l.enhanced, (*Request).reject},
		} {
			t.Run(fmt.Sprintf("%s, %d of %d", tt.name, tt.most, l.limit), func(t *testing.T) {
				cfg := Config{PrivateLimit: l.limit}
				private := text(tt.most+1, 1)
				said := answerTo(t, reqFrame(t, tt.request), func(conn net.Conn) {
					r, err := ReadRequest(conn)
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

func (r *Request) accept(cfg Config, private []byte) error {
	_, err := r.Accept(cfg, private)
	return err
}

func (r *Request) reject(cfg Config, private []byte) error { return r.Reject(cfg, private) }

// The limit is for what is sent. What comes may be more, as much as fits in a frame.
func TestPrivateLimitIsNotThePeers(t *testing.T) {
	cfg := Config{Enhanced: EnhancedNever, PrivateLimit: 4}
	private := text(512, 1)
	_, s, err := initiateTo(t, cfg, nil, append(repFrame(t, "00 01 0200"), private...))
	if err != nil {
		t.Fatal(err)
	}
	diff(t, s.PrivateData, private)
	_, s, err = acceptFrom(t, append(reqFrame(t, "00 01 0200"), private...), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, s.PrivateData, private)
}

// Limits that are none: the enhanced data has to fit.
func TestPrivateLimitOutOfRange(t *testing.T) {
	for _, limit := range []int{-1, 1, 2, 3, 513, 1 << 20} {
		cfg := Config{PrivateLimit: limit}
		conn := &scriptedPeer{in: io.MultiReader()}
		if _, err := Initiate(conn, cfg, nil); !errors.Is(err, ErrConfig) || conn.out.Len() > 0 {
			t.Errorf("initiator, %d: got %v, and %d bytes written, want %v", limit, err, conn.out.Len(), ErrConfig)
		}
		if err := cfg.ValidateResponder(); !errors.Is(err, ErrConfig) {
			t.Errorf("responder, %d: got %v, want %v", limit, err, ErrConfig)
		}
	}
}
