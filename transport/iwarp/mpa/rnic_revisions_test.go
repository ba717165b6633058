package mpa_test

import (
	"errors"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// oldSetup is a connection with version 0, and with all that this implies.
func oldSetup(initiator bool, private string) *mpa.Setup {
	s := &mpa.Setup{Setup: ddp.Setup{Initiator: initiator, IRD: 16, ORD: 8}, CRC: true, MarkersIn: true, MarkersOut: true, PeerIRD: -1, PeerORD: -1}
	if private != "" {
		s.PrivateData = []byte(private)
	}
	return s
}

// Replies of revision 0, and other replies to requests of revision 0.
func TestInitiateOldRevisions(t *testing.T) {
	permissive := mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.Permissive}
	old := mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.RDMAC}
	with := func(change func(*mpa.Config)) mpa.Config {
		c := permissive
		change(&c)
		return c
	}
	never := with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedNever })
	unusable := failure{mpa.ErrRevision, mpa.CodeFrame, false}
	unenhanced := failure{mpa.ErrUnenhanced, mpa.CodeFrame, false}
	for _, tt := range []struct {
		name, request, reply string
		cfg                  mpa.Config
		want                 *mpa.Setup
		err                  failure
	}{
		{"permissive, an enhanced request", "10 02 0004 00100010", "c0 00 0000", permissive, oldSetup(true, ""), failure{}},
		{"permissive, with markers", "90 02 0004 00100010", "c0 00 0000", with(func(c *mpa.Config) { c.Markers = mpa.MarkersOn }), oldSetup(true, ""), failure{}},
		{"permissive, rather without markers", "10 02 0004 00100010", "c0 00 0000", with(func(c *mpa.Config) { c.Markers = mpa.MarkersOff }), oldSetup(true, ""), failure{}},
		{"permissive, an unenhanced request", "00 01 0000", "c0 00 0000", never, oldSetup(true, ""), failure{}},
		{"private data", "10 02 0004 00100010", "c0 00 0003 616263", permissive, oldSetup(true, "abc"), failure{}},
		{"S is reserved in revision 0", "10 02 0004 00100010", "d0 00 0004 61626364", permissive, oldSetup(true, "abcd"), failure{}},
		{"CRC comes with revision 0", "00 01 0000", "80 00 0000", never, oldSetup(true, ""), failure{}},
		{"RDMAC", "c0 00 0000", "c0 00 0000", old, oldSetup(true, ""), failure{}},
		{"RDMAC, CRC comes with revision 0", "c0 00 0000", "80 00 0000", old, oldSetup(true, ""), failure{}},
		{"RDMAC that does no enhanced setup", "c0 00 0000", "c0 00 0000", mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.RDMAC, Enhanced: mpa.EnhancedNever}, oldSetup(true, ""), failure{}},
		{"permissive, set to version 0", "c0 00 0000", "c0 00 0000", with(func(c *mpa.Config) { c.Version = mpa.VersionRDMAC }), oldSetup(true, ""), failure{}},

		{"enhanced required", "10 02 0004 00100010", "c0 00 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedRequired }), nil, unenhanced},
		{"peer-to-peer", "10 02 0004 c010c010", "c0 00 0000", with(func(c *mpa.Config) { c.PeerToPeer = true }), nil, unenhanced},
		{"manual reads", "10 02 0004 3fff3fff", "c0 00 0000", with(func(c *mpa.Config) { c.ManualReads = true }), nil, unenhanced},
		{"permissive, set to version 1", "10 02 0004 00100010", "c0 00 0000", with(func(c *mpa.Config) { c.Version = mpa.VersionIETF }), nil, unusable},
		{"revision 0 without markers", "00 01 0000", "40 00 0000", never, nil, unusable},
		{"revision 0 without markers, enhanced", "10 02 0004 00100010", "40 00 0000", permissive, nil, unusable},
		{"RDMAC, revision 0 without markers", "c0 00 0000", "40 00 0000", old, nil, unusable},
		{"RDMAC, revision 1", "c0 00 0000", "c0 01 0000", old, nil, unusable},
		{"RDMAC, revision 2", "c0 00 0000", "d0 02 0004 00100010", old, nil, unusable},
		{"RDMAC, revision 3", "c0 00 0000", "c0 03 0000", old, nil, unusable},
		{"RDMAC, revision 1 of too much private data", "c0 00 0000", "c0 01 0201", old, nil, failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"revision 2 of too much private data, to 1", "00 01 0000", "00 02 0201", never, nil, failure{mpa.ErrFrame, mpa.CodeFrame, false}},
		{"permissive, revision 0 of too much private data", "00 01 0000", "c0 00 0201", never, nil, failure{mpa.ErrFrame, mpa.CodeFrame, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := initiateTo(t, tt.cfg, nil, repFrame(t, tt.reply))
			if diff := cmp.Diff(reqFrame(t, tt.request), said); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, s); diff != "" {
				t.Errorf("setup (-want +got):\n%s", diff)
			}
			switch {
			case tt.err.is != nil:
				tt.err.check(t, err)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// Rejects of requests of revision 0. A reject of another revision tells why
// (draft-carrier-rddp-rnic-interop-00 section 5.2.1).
func TestInitiateOldRejected(t *testing.T) {
	for _, tt := range []struct {
		name, reply string
		cfg         mpa.Config
		is          error
		want        mpa.RejectError
	}{
		{"of revision 1", "60 01 0000", mpa.Config{RNIC: mpa.RDMAC}, mpa.ErrRevision, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"of revision 1, with markers", "e0 01 0002 6e6f", mpa.Config{RNIC: mpa.RDMAC}, mpa.ErrRevision, mpa.RejectError{PrivateData: []byte("no"), PeerIRD: -1, PeerORD: -1}},
		{"of revision 2", "70 02 0004 61626364", mpa.Config{RNIC: mpa.RDMAC}, mpa.ErrRevision, mpa.RejectError{PrivateData: []byte("abcd"), PeerIRD: -1, PeerORD: -1}},
		{"of revision 1, version 0 by choice", "60 01 0000", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionRDMAC}, mpa.ErrRevision, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"of revision 0", "e0 00 0002 6e6f", mpa.Config{RNIC: mpa.RDMAC}, nil, mpa.RejectError{PrivateData: []byte("no"), PeerIRD: -1, PeerORD: -1}},
		{"of revision 0, without markers", "20 00 0000", mpa.Config{RNIC: mpa.RDMAC}, nil, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"of revision 0, to a permissive side", "e0 00 0000", mpa.Config{RNIC: mpa.Permissive}, nil, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
		{"of revision 1, to a permissive side", "60 01 0000", mpa.Config{RNIC: mpa.Permissive}, nil, mpa.RejectError{PeerIRD: -1, PeerORD: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, s, err := initiateTo(t, tt.cfg, nil, repFrame(t, tt.reply))
			if s != nil {
				t.Errorf("got setup %+v", s)
			}
			var got *mpa.RejectError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a RejectError", err)
			}
			if !errors.Is(got.Err, tt.is) || tt.is == nil && got.Err != nil {
				t.Errorf("got %v, want %v", got.Err, tt.is)
			}
			got.Err = nil
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Requests of revision 0, and other requests to an RDMAC RNIC.
func TestAcceptOldRevisions(t *testing.T) {
	permissive := mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.Permissive}
	old := mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.RDMAC}
	with := func(change func(*mpa.Config)) mpa.Config {
		c := permissive
		change(&c)
		return c
	}
	unusable := failure{mpa.ErrRevision, mpa.CodeFrame, false}
	for _, tt := range []struct {
		name, request, reply string // no reply if empty
		cfg                  mpa.Config
		want                 *mpa.Setup
		err                  failure
	}{
		{"permissive", "c0 00 0000", "c0 00 0000", permissive, oldSetup(false, ""), failure{}},
		{"permissive, rather without markers", "c0 00 0000", "c0 00 0000", with(func(c *mpa.Config) { c.Markers = mpa.MarkersOff }), oldSetup(false, ""), failure{}},
		{"permissive, set to version 0", "c0 00 0000", "c0 00 0000", with(func(c *mpa.Config) { c.Version = mpa.VersionRDMAC }), oldSetup(false, ""), failure{}},
		{"CRC comes with revision 0", "80 00 0000", "c0 00 0000", permissive, oldSetup(false, ""), failure{}},
		{"S is reserved in revision 0", "d0 00 0004 61626364", "c0 00 0000", permissive, oldSetup(false, "abcd"), failure{}},
		{"S is reserved in revision 0, enhanced never", "d0 00 0004 61626364", "c0 00 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedNever }),
			oldSetup(false, "abcd"), failure{}},
		{"a required ORD is for enhanced setup", "c0 00 0000", "c0 00 0000", with(func(c *mpa.Config) { c.RequiredORD = 16 }), oldSetup(false, ""), failure{}},
		{"enhanced required is for initiators", "c0 00 0000", "c0 00 0000", with(func(c *mpa.Config) { c.Enhanced = mpa.EnhancedRequired }), oldSetup(false, ""), failure{}},
		{"RDMAC", "c0 00 0003 616263", "c0 00 0000", old, oldSetup(false, "abc"), failure{}},
		{"RDMAC, revision 1", "00 01 0000", "c0 00 0000", old, oldSetup(false, ""), failure{}},
		{"RDMAC, revision 2", "00 02 0000", "c0 00 0000", old, oldSetup(false, ""), failure{}},
		{"RDMAC, an enhanced request", "10 02 0007 00100010 616263", "c0 00 0000", old, oldSetup(false, "abc"), failure{}},
		{"RDMAC, a peer-to-peer request", "90 02 0004 c010c010", "c0 00 0000", old, oldSetup(false, ""), failure{}},

		{"permissive, set to version 1", "c0 00 0000", "60 01 0000", with(func(c *mpa.Config) { c.Version = mpa.VersionIETF }), nil, unusable},
		{"permissive, set to version 1, markers", "c0 00 0000", "e0 01 0000",
			with(func(c *mpa.Config) { c.Version, c.Markers = mpa.VersionIETF, mpa.MarkersOn }), nil, unusable},
		{"permissive, revision 0 without markers", "40 00 0000", "e0 00 0000", permissive, nil, unusable},
		{"RDMAC, revision 0 without markers", "40 00 0000", "e0 00 0000", old, nil, unusable},
		{"RDMAC that does no enhanced setup, an enhanced request", "10 02 0004 00100010", "",
			mpa.Config{IRD: 16, ORD: 16, RNIC: mpa.RDMAC, Enhanced: mpa.EnhancedNever}, nil, failure{mpa.ErrEnhanced, mpa.CodeFrame, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, tt.request), tt.cfg, nil)
			want := []byte{}
			if tt.reply != "" {
				want = repFrame(t, tt.reply)
			}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, s); diff != "" {
				t.Errorf("setup (-want +got):\n%s", diff)
			}
			switch {
			case tt.err.is != nil:
				tt.err.check(t, err)
			case err != nil:
				t.Error(err)
			}
		})
	}
}

// The version may be changed between the request and the reply. The reject follows the new one.
func TestRejectOldRevisions(t *testing.T) {
	for _, tt := range []struct {
		name, request, reply string
		cfg                  mpa.Config
	}{
		{"permissive", "c0 00 0000", "e0 00 0002 6e6f", mpa.Config{RNIC: mpa.Permissive}},
		{"permissive, revision 1", "40 01 0000", "60 01 0002 6e6f", mpa.Config{RNIC: mpa.Permissive}},
		{"permissive, set to version 1", "c0 00 0000", "60 01 0002 6e6f", mpa.Config{RNIC: mpa.Permissive, Version: mpa.VersionIETF}},
		{"RDMAC", "c0 00 0000", "e0 00 0002 6e6f", mpa.Config{RNIC: mpa.RDMAC}},
		{"RDMAC, revision 1", "00 01 0000", "e0 00 0002 6e6f", mpa.Config{RNIC: mpa.RDMAC}},
		{"RDMAC, an enhanced request", "10 02 0004 00100010", "e0 00 0002 6e6f", mpa.Config{RNIC: mpa.RDMAC}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := answerTo(t, reqFrame(t, tt.request), func(conn net.Conn) {
				r, err := mpa.ReadRequest(conn)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Reject(tt.cfg, []byte("no")); err != nil {
					t.Errorf("Reject: %v", err)
				}
			})
			if diff := cmp.Diff(repFrame(t, tt.reply), said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}
