package mpa_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// rtrReply is a responder's reply to a request with IRD 8, and its setup then.
type rtrReply struct {
	name    string
	cfg     mpa.Config
	request string // enhanced data
	reply   string // likewise
	rtr     mpa.RTR
	ird     int
	anySend bool
}

func checkRTRReplies(t *testing.T, tests []rtrReply) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said, s, err := acceptFrom(t, reqFrame(t, "10 02 0004"+tt.request), tt.cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(repFrame(t, "10 02 0004"+tt.reply), said); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if s.RTR != tt.rtr || s.IRD != tt.ird || s.AnySend != tt.anySend || s.PeerToPeer != (tt.rtr != 0) {
				t.Errorf("got RTR %v, IRD %d, any Send %t, want %v, %d, %t", s.RTR, s.IRD, s.AnySend, tt.rtr, tt.ird, tt.anySend)
			}
		})
	}
}

// A responder that names one kind of RTR.
func TestOneRTR(t *testing.T) {
	with := func(rtr mpa.RTR) mpa.Config { return mpa.Config{IRD: 16, ORD: 16, OneRTR: true, RTR: rtr} }
	all := with(0)
	checkRTRReplies(t, []rtrReply{
		{"every kind offered", all, "c008c004", "80108008", mpa.RTRWrite, 16, false},
		{"Write and Send", all, "c0088004", "80108008", mpa.RTRWrite, 16, false},
		{"Read and Send", all, "c0084004", "80104008", mpa.RTRRead, 16, false},
		{"Read", all, "80084004", "80104008", mpa.RTRRead, 16, false},
		{"Send", all, "c0080004", "c0100008", mpa.RTRSend, 16, false},
		{"no Write taken", with(mpa.RTRSend | mpa.RTRRead), "c008c004", "80104008", mpa.RTRRead, 16, false},
		{"nothing but a Send taken", with(mpa.RTRSend), "c008c004", "c0100008", mpa.RTRSend, 16, false},
		{"none that is taken", with(mpa.RTRSend | mpa.RTRRead), "80088004", "80104008", mpa.RTRRead, 16, false},
		{"none offered", all, "80080004", "80108008", mpa.RTRWrite, 16, false},
		{"no Read without an IRD", mpa.Config{ORD: 16, OneRTR: true}, "c0084004", "c0000008", mpa.RTRSend, 0, false},
		{"client-server", all, "4008c004", "00100008", 0, 16, false},
	})
}

// In the dialect of draft-ietf-storm-mpa-peer-connect-05 section 9, the IRD is at most the
// initiator's ORD, except for an RTR by Read, and the reply names no kind if none is common.
func TestDraft05(t *testing.T) {
	draft := mpa.Config{IRD: 16, ORD: 16, Draft05: true}
	with := func(change func(*mpa.Config)) mpa.Config {
		c := draft
		change(&c)
		return c
	}
	checkRTRReplies(t, []rtrReply{
		{"IRD lowered", draft, "00080004", "00040008", 0, 4, false},
		{"IRD equal", draft, "00080010", "00100008", 0, 16, false},
		{"IRD below", draft, "00080020", "00100008", 0, 16, false},
		{"no reads", draft, "00080000", "00000008", 0, 0, false},
		{"without the dialect", mpa.Config{IRD: 16, ORD: 16}, "00080004", "00100008", 0, 16, false},
		{"0x3FFF", draft, "3fff3fff", "3fff3fff", 0, 16, false},
		{"manual reads", with(func(c *mpa.Config) { c.ManualReads = true }), "00080004", "3fff3fff", 0, 16, false},

		{"every kind", draft, "c008c004", "c004c008", mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead, 4, false},
		{"a Read where the initiator's ORD is 0", draft, "c0084000", "c0014008", mpa.RTRSend | mpa.RTRRead, 1, false},
		{"a Read that is not offered", draft, "c0088000", "c0008008", mpa.RTRSend | mpa.RTRWrite, 0, false},
		{"a Read that is not taken", with(func(c *mpa.Config) { c.RTR = mpa.RTRWrite }), "8008c000", "80008008", mpa.RTRWrite, 0, false},
		{"a Read that is not the one", with(func(c *mpa.Config) { c.OneRTR = true }), "8008c000", "80008008", mpa.RTRWrite, 0, false},
		{"a Read that is the one", with(func(c *mpa.Config) { c.OneRTR = true }), "c0084000", "80014008", mpa.RTRRead, 1, false},
		{"flags without A", draft, "4008c000", "00000008", 0, 0, false},

		{"no common kind", with(func(c *mpa.Config) { c.RTR = mpa.RTRSend }), "8008c004", "80040008", mpa.RTRSend, 4, true},
		{"no common kind, one", with(func(c *mpa.Config) { c.RTR, c.OneRTR = mpa.RTRSend|mpa.RTRRead, true }), "80088004", "80040008", mpa.RTRSend, 4, true},
		{"none offered", draft, "80080004", "80040008", mpa.RTRSend, 4, true},
		{"no common kind, and no Send taken", with(func(c *mpa.Config) { c.RTR = mpa.RTRWrite }), "80084004", "80048008", mpa.RTRWrite, 4, false},
		{"no common kind, no Send taken, no reads", with(func(c *mpa.Config) { c.RTR = mpa.RTRRead }), "80088000", "80014008", mpa.RTRRead, 1, false},
		{"no common kind, without the dialect", mpa.Config{IRD: 16, ORD: 16, RTR: mpa.RTRSend}, "8008c004", "c0100008", mpa.RTRSend, 16, false},
	})
}

// An initiator understands the dialect, with the option or without. If no kind is named, it sends a
// Send first.
func TestInitiateDraft05(t *testing.T) {
	for _, draft := range []bool{false, true} {
		cfg := mpa.Config{IRD: 16, ORD: 4, PeerToPeer: true, Draft05: draft}
		for _, tt := range []struct {
			name, reply string
			want        mpa.Setup
		}{
			{"IRD lowered", "c004c010", mpa.Setup{Setup: ddp.Setup{ORD: 4, RTR: mpa.RTRWrite}, PeerIRD: 4, PeerORD: 16}},
			{"no kind", "80040010", mpa.Setup{Setup: ddp.Setup{ORD: 4, RTR: mpa.RTRSend, AnySend: true}, PeerIRD: 4, PeerORD: 16}},
			{"no kind, and no IRD", "80000010", mpa.Setup{Setup: ddp.Setup{ORD: 0, RTR: mpa.RTRSend, AnySend: true}, PeerIRD: 0, PeerORD: 16}},
			{"a Send by name", "c0040010", mpa.Setup{Setup: ddp.Setup{ORD: 4, RTR: mpa.RTRSend}, PeerIRD: 4, PeerORD: 16}},
		} {
			t.Run(fmt.Sprintf("%s, draft's dialect %t", tt.name, draft), func(t *testing.T) {
				said, s, err := initiateTo(t, cfg, nil, repFrame(t, "10 02 0004"+tt.reply))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(reqFrame(t, "10 02 0004 c010c004"), said); diff != "" {
					t.Errorf("request (-want +got):\n%s", diff)
				}
				tt.want.Initiator, tt.want.Revision, tt.want.Version, tt.want.Enhanced = true, 2, 1, true
				tt.want.PeerToPeer, tt.want.IRD, tt.want.Draft05 = true, 16, draft
				if diff := cmp.Diff(&tt.want, s); diff != "" {
					t.Errorf("setup (-want +got):\n%s", diff)
				}
			})
		}
	}
}
