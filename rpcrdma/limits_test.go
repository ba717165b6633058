package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// onLimits runs tests on a provider with limits.
func onLimits(t *testing.T, limits transporttest.Limits, tests []func(*testing.T)) {
	smallLimits = limits
	defer func() { smallLimits = transporttest.Limits{} }()
	for _, test := range tests {
		t.Run(testName(test), test)
	}
}

func testName(test func(*testing.T)) string {
	full := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	return full[strings.LastIndexByte(full, '.')+1:]
}

// TestOnSmallLimits runs tests on a provider with small limits, and receives that need memory when
// they are posted.
func TestOnSmallLimits(t *testing.T) {
	onLimits(t, transporttest.Limits{
		MaxSendSGE: 2, MaxRecvSGE: 2, MaxReadSGE: 1, MaxMessage: 4096, MaxRegion: 4096, NoHold: true,
	}, onAnything)
}

// TestOnDevice runs them on a provider that lacks what an adapter lacks.
func TestOnDevice(t *testing.T) {
	asDevice = true
	defer func() { asDevice = false }()
	impossible := func(test func(*testing.T)) bool {
		return slices.Contains(notOnDevice, testName(test))
	}
	onLimits(t, transporttest.Limits{}, slices.DeleteFunc(slices.Clone(onAnything), impossible))
}

// notOnDevice are tests that a device cannot pass.
var notOnDevice = []string{
	// The end that did not post an operation learns why it was refused.
	"TestExceeded", "TestFatal",
	"TestFloodedClient", "TestLoweredGrantExceeded", "TestWindowsEnd",
	// They are about optional abilities.
	"TestAbandonFails", "TestCancelWithoutAbandon", "TestInvalidate",
}

// onAnything are tests that a provider with any limits passes.
var onAnything = []func(*testing.T){
	TestAsking, TestCancelledNotAnswered, TestCancelStorm, TestCancelWithoutAbandon,
	TestBadReplies, TestTooLarge, TestCopyBack, TestGrantsFollowMemory, TestDialledShare,
	TestClientReads,
	TestEndsWhilePinned,
	TestNeverDone, TestReplyNotRead, TestManyInDoubt, TestMemoryInDoubt,
	TestOurXIDInTheirCall, TestEarlyDoneStalls,
	TestMalformed, TestMalformedToClient, TestMalformedReplies,
	TestFatal, TestStrayLongReply, TestFaultsOnce,
	TestCreditsOfErrors,
	TestReadListNotAgreed, TestReplyReadsHalfExposed, TestExceeded, TestFloodedClient,
	TestNoReceiveForOurs, TestEchoAnything, TestConnectionLost, TestShutdownDrains, TestUnserved, TestExpectPosted,
	TestFaultLines, TestGranted,
	TestStalledReads, TestServeContext, TestLinuxSizedReply,
	TestImpossibleCall, TestImpossibleMeanwhile, TestCallsWithoutReads,
	TestTwoBuffers, TestPaddedGolden, TestPaddedCalls,
	TestConfigBounds, TestWindowsEnd,
	TestReadLimitChanges, TestFirstCallInFull, TestRepliesWithoutReceives,
	TestConnectionNotMade, TestRefusedCalls, TestReplyReleased, TestInvalidate, TestInlineSizes,
	TestAgreeTogether,
	TestLoweredGrantExceeded, TestNamedXID, TestNamedXIDInUse,
	TestClientMustNotRead, TestDones,
}

// TestOnScatteredRegions runs tests that count segments, or have messages of more than a page, on a
// provider that makes a Region of each Slice.
func TestOnScatteredRegions(t *testing.T) {
	onLimits(t, transporttest.Limits{
		MaxSendSGE: 3, MaxRecvSGE: 2, MaxReadSGE: 1, MaxMessage: 64 << 10,
		MaxRegion: 1 << 20, NoHold: true,
	}, []func(*testing.T){
		TestCancelSending, TestCancelUnderWay, TestCancelWhileReading, TestGrantsInDoubt,
		TestReplyInvalidated, TestAbandonedInvalidated, TestAgree,
		TestAgreeTakesEffect, TestInitialSettings, TestLimits, TestWithheld, TestXIDTaken,
	})
}

// TestScatteredMemory: arguments in many pieces get a Region for each piece, if the header and the
// provider have room for so many. Otherwise they are copied. Only a call that needs more Regions
// than there are fails with ErrNoMemory.
func TestScatteredMemory(t *testing.T) {
	for _, tt := range []struct {
		name          string
		pieces, bytes int
		regions       int // there are
		segments      int // the call has
		want          error
	}{
		{"a few pieces", 5, 4000, 100, 5, nil},
		{"more than the header holds", 300, 273, 1000, 20, nil},
		{"more than there are Regions", 50, 320, 49, 4, nil},
		{"too much for the Regions", 2, 40_000, 10, 0, transport.ErrNoMemory},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := transporttest.Limits{MaxRegion: 4096, MaxRegions: tt.regions}
			wrap := func(ep transport.Endpoint) transport.Endpoint {
				return transporttest.Limit(ep.(transporttest.FullEndpoint), limits)
			}
			c, p := rawServerOn(t, rpcrdma.Config{}, inline4k, wrap)
			data := pattern(1, tt.pieces*tt.bytes)
			var pieces [][]byte
			for i := range tt.pieces {
				pieces = append(pieces, data[i*tt.bytes:][:tt.bytes])
			}
			done := make(chan error, 1)
			go func() {
				done <- client(c).Call(context.Background(), procSink, scattered{pieces}, nil)
			}()
			if tt.want != nil {
				if err := wait(t, done); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				go func() { done <- client(c).Call(context.Background(), procNull, nil, nil) }()
			}
			h, _ := p.next()
			var got []byte
			for _, s := range h.Reads {
				got = append(got, p.read(s.Segment)...)
			}
			if len(h.Reads) != tt.segments {
				t.Errorf("%d segments, want %d", len(h.Reads), tt.segments)
			}
			if tt.segments > 0 && !bytes.Equal(got, data) {
				t.Error("the peer reads something else")
			}
			p.send(header(h.XID, rpcrdma.TypeMsg), replyHeader(h.XID))
			if err := wait(t, done); err != nil {
				t.Error(err)
			}
		})
	}
}

// scattered is one bulk item in pieces.
type scattered struct{ pieces [][]byte }

func (s scattered) MarshalXDR(e *xdr.Encoder) { e.Bulk(s.pieces, nil) }

// TestReceivesRefused: receives need memory when they are posted, and one host makes so many
// connections that it is refused, until one of them ends. Another host is not.
func TestReceivesRefused(t *testing.T) {
	const room = 3 // half of what fits is for one host
	var log bytes.Buffer
	var counters rpcrdma.Counters
	cfg := rpcrdma.Config{
		Credits:       1,                    // so that no connection takes more than the minimum
		ReceiveMemory: 2*room*2*4096 + 4095, // two receives each
		Counters:      &counters,
		Logger:        slog.New(slog.NewTextHandler(&log, nil)),
	}
	smallLimits = transporttest.Limits{NoHold: true}
	defer func() { smallLimits = transporttest.Limits{} }()
	r := newRig(t, cfg)
	var conns []*rpcrdma.Conn
	dial := func() error {
		c, err := r.tryDial(rpcrdma.Config{}, guardAny)
		if err != nil {
			return err
		}
		conns = append(conns, c)
		return client(c).Call(t.Context(), procNull, nil, nil)
	}
	for range room {
		if err := dial(); err != nil {
			t.Fatal(err)
		}
	}
	if err, reject := dial(), new(transport.RejectError); !errors.As(err, &reject) {
		t.Errorf("dialled one too many: %v, want a RejectError", err)
	}
	if n := counters.Totals().Refused; n != 1 {
		t.Errorf("%d connections refused, want 1", n)
	}
	for _, c := range conns {
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Errorf("a connection that was there: %v", err)
		}
	}
	conns[0].Close()
	waitFor(t, func() bool { return dial() == nil })
	r.dialer = r.fabric.Dialer(loopback.Config{})
	if err := dial(); err != nil {
		t.Errorf("a connection of another host: %v", err)
	}
	got := log.String()
	if !strings.Contains(got, "connection refused") || !strings.Contains(got, "level=WARN") {
		t.Errorf("log %q", got)
	}
}

// narrowDialer promises fewer bytes of private data than RFC 8797 takes. It takes most.
type narrowDialer struct {
	transport.Dialer
	most int
}

func (narrowDialer) MaxPrivateData() int { return 7 }

func (d narrowDialer) Dial(ctx context.Context, addr string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	return d.Dialer.Dial(ctx, addr, func(ep transport.Endpoint) ([]byte, error) {
		private, err := prepare(ep)
		if err == nil && len(private) > d.most {
			err = transport.ErrPrivateData
		}
		return private, err
	})
}

// TestPrivateTooLong: how much private data a dialer takes is known when it has been tried. If it
// is too much, the memory that was posted before is given back.
func TestPrivateTooLong(t *testing.T) {
	for most, want := range map[int]error{7: transport.ErrPrivateData, 8: nil} {
		r := newRig(t, rpcrdma.Config{})
		before, _ := r.fabric.Domain().Allocated()
		d := narrowDialer{transport.WrapDialer(r.dialer, withoutAbilities), most}
		c, err := rpcrdma.Dial(t.Context(), d, rigAddr, rpcrdma.Config{Logger: quiet})
		if !errors.Is(err, want) {
			t.Errorf("dialled with at most %d bytes: %v, want %v", most, err, want)
		}
		if err != nil {
			if after, _ := r.fabric.Domain().Allocated(); after != before {
				t.Errorf("%d slices of memory were not given back", after-before)
			}
			continue
		}
		c.Close()
		wait(t, c.Done())
	}
}
