package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// limitedTest is a test that also runs on a provider with limits.
type limitedTest struct {
	name string
	test func(*testing.T)
}

// onLimits runs tests on a provider with limits.
func onLimits(t *testing.T, limits transporttest.Limits, tests []limitedTest) {
	smallLimits = limits
	defer func() { smallLimits = transporttest.Limits{} }()
	for _, tt := range tests {
		t.Run(tt.name, tt.test)
	}
}

// TestOnSmallLimits runs tests on a provider with small limits: a Region for each page of memory,
// Reads of one element, Writes and Reads of at most a page, and receives that need memory when they
// are posted.
func TestOnSmallLimits(t *testing.T) {
	onLimits(t, transporttest.Limits{
		MaxSendSGE: 2, MaxRecvSGE: 2, MaxReadSGE: 1, MaxMessage: 4096, MaxRegion: 4096, NoHold: true,
	}, onAnything)
}

// TestOnDevice runs them on a provider that lacks what an adapter lacks.
func TestOnDevice(t *testing.T) {
	asDevice = true
	defer func() { asDevice = false }()
	impossible := func(tt limitedTest) bool { return slices.Contains(notOnDevice, tt.name) }
	onLimits(t, transporttest.Limits{}, slices.DeleteFunc(slices.Clone(onAnything), impossible))
}

// notOnDevice are tests that a device cannot pass.
var notOnDevice = []string{
	// The end that did not post an operation learns why it was refused.
	"TestExceeded", "TestExceededOnTheWire", "TestFatal", "TestFaultsOfComers",
	"TestFloodedClient", "TestLoweredGrantExceeded", "TestWindowsEnd",
	// They are about optional abilities.
	"TestAbandonFails", "TestCancelWithoutAbandon", "TestInvalidate", "TestPaddedLandsAligned",
}

// onAnything are tests that a provider with any limits passes.
var onAnything = []limitedTest{
	{"TestAsking", TestAsking},
	{"TestCancelWaitingForCredit", TestCancelWaitingForCredit},
	{"TestCancelledNotAnswered", TestCancelledNotAnswered},
	{"TestCancelStorm", TestCancelStorm},
	{"TestCancelWithoutAbandon", TestCancelWithoutAbandon},
	{"TestChunkFrom", TestChunkFrom},
	{"TestBadReplies", TestBadReplies},
	{"TestUnknownXID", TestUnknownXID},
	{"TestGrants", TestGrants},
	{"TestTooLarge", TestTooLarge},
	{"TestCopyBack", TestCopyBack},
	{"TestGrantsMove", TestGrantsMove},
	{"TestWindowLowered", TestWindowLowered},
	{"TestRealGrants", TestRealGrants},
	{"TestReceivesShrink", TestReceivesShrink},
	{"TestGrantsFollowMemory", TestGrantsFollowMemory},
	{"TestDialledShare", TestDialledShare},
	{"TestCancelBeforeReads", TestCancelBeforeReads},
	{"TestCancelStormReads", TestCancelStormReads},
	{"TestResultsByReadChunk", TestResultsByReadChunk},
	{"TestClientReads", TestClientReads},
	{"TestDoneAfterReads", TestDoneAfterReads},
	{"TestGrantsWhileReading", TestGrantsWhileReading},
	{"TestDoneTakesCredit", TestDoneTakesCredit},
	{"TestEndsWhilePinned", TestEndsWhilePinned},
	{"TestReadsAfterFailed", TestReadsAfterFailed},
	{"TestBadReplyReads", TestBadReplyReads},
	{"TestReplyReadsImpossible", TestReplyReadsImpossible},
	{"TestReplyReadInRFC8166", TestReplyReadInRFC8166},
	{"TestDoneOvertakes", TestDoneOvertakes},
	{"TestDoneOvertakesTwice", TestDoneOvertakesTwice},
	{"TestDonesIgnored", TestDonesIgnored},
	{"TestDoneMissed", TestDoneMissed},
	{"TestDoneMissedAgain", TestDoneMissedAgain},
	{"TestNeverDone", TestNeverDone},
	{"TestReplyNotRead", TestReplyNotRead},
	{"TestManyInDoubt", TestManyInDoubt},
	{"TestMemoryInDoubt", TestMemoryInDoubt},
	{"TestReplyTakenForCall", TestReplyTakenForCall},
	{"TestOurXIDInTheirCall", TestOurXIDInTheirCall},
	{"TestBothWaysReads", TestBothWaysReads},
	{"TestEarlyDoneStalls", TestEarlyDoneStalls},
	{"TestEarlyDoneSent", TestEarlyDoneSent},
	{"TestMalformed", TestMalformed},
	{"TestMalformedToClient", TestMalformedToClient},
	{"TestMalformedReplies", TestMalformedReplies},
	{"TestMalformedLateReplies", TestMalformedLateReplies},
	{"TestTruncated", TestTruncated},
	{"TestFatal", TestFatal},
	{"TestStrayLongReply", TestStrayLongReply},
	{"TestFaultsOnce", TestFaultsOnce},
	{"TestFaultsOfReplies", TestFaultsOfReplies},
	{"TestFaultsOfResults", TestFaultsOfResults},
	{"TestFaultsOfLongCalls", TestFaultsOfLongCalls},
	{"TestStraysAreQuiet", TestStraysAreQuiet},
	{"TestLongCallsCutOff", TestLongCallsCutOff},
	{"TestMalformedRepliesAtOnce", TestMalformedRepliesAtOnce},
	{"TestTruncatedReplies", TestTruncatedReplies},
	{"TestCreditsOfErrors", TestCreditsOfErrors},
	{"TestReadListNotAgreed", TestReadListNotAgreed},
	{"TestReplyReadsHalfExposed", TestReplyReadsHalfExposed},
	{"TestExceeded", TestExceeded},
	{"TestExceededOnTheWire", TestExceededOnTheWire},
	{"TestFloodedClient", TestFloodedClient},
	{"TestNoReceiveForOurs", TestNoReceiveForOurs},
	{"TestEchoAnything", TestEchoAnything},
	{"TestServerError", TestServerError},
	{"TestConnectionLost", TestConnectionLost},
	{"TestShutdownDrains", TestShutdownDrains},
	{"TestBothWays", TestBothWays},
	{"TestUnserved", TestUnserved},
	{"TestExpectPosted", TestExpectPosted},
	{"TestFaultLines", TestFaultLines},
	{"TestFaultsOfComers", TestFaultsOfComers},
	{"TestFaultsOfBadChunks", TestFaultsOfBadChunks},
	{"TestFetchEnds", TestFetchEnds},
	{"TestGranted", TestGranted},
	{"TestReceivesFollowGrants", TestReceivesFollowGrants},
	{"TestMemoryPressure", TestMemoryPressure},
	{"TestMemoryGivenBack", TestMemoryGivenBack},
	{"TestLinuxSends", TestLinuxSends},
	{"TestLinuxSendsTruncated", TestLinuxSendsTruncated},
	{"TestHeaderGolden", TestHeaderGolden},
	{"TestHeaderTruncated", TestHeaderTruncated},
	{"TestHeaderRefused", TestHeaderRefused},
	{"TestHeaderListError", TestHeaderListError},
	{"TestHeaderAllocates", TestHeaderAllocates},
	{"TestNames", TestNames},
	{"TestStalledReads", TestStalledReads},
	{"TestStalledReplies", TestStalledReplies},
	{"TestRefusedReservesNothing", TestRefusedReservesNothing},
	{"TestServeContext", TestServeContext},
	{"TestLinuxSizedReply", TestLinuxSizedReply},
	{"TestLongCallWithOurXID", TestLongCallWithOurXID},
	{"TestAbandonFails", TestAbandonFails},
	{"TestOddMaxReply", TestOddMaxReply},
	{"TestTrailingEmptyResult", TestTrailingEmptyResult},
	{"TestEmptyResultBuffer", TestEmptyResultBuffer},
	{"TestImpossibleCall", TestImpossibleCall},
	{"TestImpossibleMeanwhile", TestImpossibleMeanwhile},
	{"TestCallsWithoutReads", TestCallsWithoutReads},
	{"TestPaddedLandsAligned", TestPaddedLandsAligned},
	{"TestTwoBuffers", TestTwoBuffers},
	{"TestPaddedGolden", TestPaddedGolden},
	{"TestPaddedCalls", TestPaddedCalls},
	{"TestPaddedInRFC8166", TestPaddedInRFC8166},
	{"TestPaddedBesideChunks", TestPaddedBesideChunks},
	{"TestPaddedReplies", TestPaddedReplies},
	{"TestOrder", TestOrder},
	{"TestGiveUp", TestGiveUp},
	{"TestCancelledKeepsCredit", TestCancelledKeepsCredit},
	{"TestManyReceiveSizes", TestManyReceiveSizes},
	{"TestConfigBounds", TestConfigBounds},
	{"TestWindowsEnd", TestWindowsEnd},
	{"TestReadLimitChanges", TestReadLimitChanges},
	{"TestReadLimitEnds", TestReadLimitEnds},
	{"TestFirstCallInFull", TestFirstCallInFull},
	{"TestRepliesWithoutReceives", TestRepliesWithoutReceives},
	{"TestConnectionNotMade", TestConnectionNotMade},
	{"TestReadChunks", TestReadChunks},
	{"TestRefusedCalls", TestRefusedCalls},
	{"TestIgnored", TestIgnored},
	{"TestLengthsDisagree", TestLengthsDisagree},
	{"TestReplies", TestReplies},
	{"TestReplyReleased", TestReplyReleased},
	{"TestInvalidate", TestInvalidate},
	{"TestInlineSizes", TestInlineSizes},
	{"TestAgreeTogether", TestAgreeTogether},
	{"TestNotExceeded", TestNotExceeded},
	{"TestLoweredGrantExceeded", TestLoweredGrantExceeded},
	{"TestDonesWithinGrant", TestDonesWithinGrant},
	{"TestDoneWhileFull", TestDoneWhileFull},
	{"TestNamedXID", TestNamedXID},
	{"TestNamedXIDInUse", TestNamedXIDInUse},
}

// TestOnScatteredRegions runs tests that count segments, or have messages of more than a page, on a
// provider that makes a Region of each Slice, whose Reads have one element, and whose receives need
// memory when they are posted.
func TestOnScatteredRegions(t *testing.T) {
	onLimits(t, transporttest.Limits{
		MaxSendSGE: 3, MaxRecvSGE: 2, MaxReadSGE: 1, MaxMessage: 64 << 10, MaxRegion: 1 << 20, NoHold: true,
	}, []limitedTest{
		{"TestCancelSending", TestCancelSending},
		{"TestCancelUnderWay", TestCancelUnderWay},
		{"TestCancelWhileReading", TestCancelWhileReading},
		{"TestDonesOfOneXID", TestDonesOfOneXID},
		{"TestEcho", TestEcho},
		{"TestGrantsInDoubt", TestGrantsInDoubt},
		{"TestNoErrorStorm", TestNoErrorStorm},
		{"TestReplyForms", TestReplyForms},
		{"TestReplyInvalidated", TestReplyInvalidated},
		{"TestReplyReadsBothEnds", TestReplyReadsBothEnds},
		{"TestReplyReadsToNoCall", TestReplyReadsToNoCall},
		{"TestReturnedChunks", TestReturnedChunks},
		{"TestShutdownWaitsForDone", TestShutdownWaitsForDone},
		{"TestAbandonedInvalidated", TestAbandonedInvalidated},
		{"TestAgree", TestAgree},
		{"TestAgreeMeanwhile", TestAgreeMeanwhile},
		{"TestAgreeTakesEffect", TestAgreeTakesEffect},
		{"TestAgreeTakesEffectOnReplies", TestAgreeTakesEffectOnReplies},
		{"TestExchangeTwice", TestExchangeTwice},
		{"TestInitialSettings", TestInitialSettings},
		{"TestLateDoneMakesRoom", TestLateDoneMakesRoom},
		{"TestLimits", TestLimits},
		{"TestPaddedBothEnds", TestPaddedBothEnds},
		{"TestPinnedNotAhead", TestPinnedNotAhead},
		{"TestPrivateGolden", TestPrivateGolden},
		{"TestPrivateReservedFlags", TestPrivateReservedFlags},
		{"TestPrivateUnknown", TestPrivateUnknown},
		{"TestRoundUpInRFC8166", TestRoundUpInRFC8166},
		{"TestServerShare", TestServerShare},
		{"TestWithheld", TestWithheld},
		{"TestWithheldGrantsNothing", TestWithheldGrantsNothing},
		{"TestWithheldInOrder", TestWithheldInOrder},
		{"TestWithheldInTurn", TestWithheldInTurn},
		{"TestWithheldLetGo", TestWithheldLetGo},
		{"TestXIDTaken", TestXIDTaken},
	})
}

// dialLimited connects a client over an endpoint with limits.
func dialLimited(r *rig, limits transporttest.Limits, cfg rpcrdma.Config) (*rpcrdma.Conn, error) {
	d := transport.WrapDialer(r.dialer, func(ep transport.Endpoint) transport.Endpoint {
		return transporttest.Limit(ep.(transporttest.FullEndpoint), limits)
	})
	cfg.Logger = quiet
	c, err := rpcrdma.Dial(r.t.Context(), d, rigAddr, cfg)
	if err == nil {
		r.t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// TestBeyondLimits: Dial fails if the provider cannot carry what is configured.
func TestBeyondLimits(t *testing.T) {
	r := newRig(t, rpcrdma.Config{})
	aligned := rpcrdma.Config{Dialect: rpcrdma.Draft, Align: 512}
	for _, tt := range []struct {
		name   string
		limits transporttest.Limits
		cfg    rpcrdma.Config
		want   error
	}{
		{"a Send too short for InlineSend", transporttest.Limits{MaxMessage: 4095}, rpcrdma.Config{}, rpcrdma.ErrProviderLimits},
		{"a Send long enough", transporttest.Limits{MaxMessage: 4096}, rpcrdma.Config{}, nil},
		{"receives of one buffer, with Align", transporttest.Limits{MaxRecvSGE: 1}, aligned, rpcrdma.ErrProviderLimits},
		{"receives of two buffers, with Align", transporttest.Limits{MaxRecvSGE: 2}, aligned, nil},
		{"receives of one buffer, without", transporttest.Limits{MaxRecvSGE: 1}, rpcrdma.Config{}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := dialLimited(r, tt.limits, tt.cfg)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil {
				if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
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

// TestReceivesRefused: if receives need memory when they are posted, ReceiveMemory has room for a
// number of connections. Another one is refused, until one ends.
func TestReceivesRefused(t *testing.T) {
	const room = 3
	var log bytes.Buffer
	var counters rpcrdma.Counters
	cfg := rpcrdma.Config{
		Credits:       1,                  // so that no connection takes more than the minimum
		ReceiveMemory: room*2*4096 + 4095, // two receives each
		Counters:      &counters,
		Logger:        slog.New(slog.NewTextHandler(&log, nil)),
	}
	smallLimits = transporttest.Limits{NoHold: true}
	defer func() { smallLimits = transporttest.Limits{} }()
	r := newRig(t, cfg)
	r.hosts.apart.Store(true) // so that all that fit are admitted
	var conns []*rpcrdma.Conn
	call := func(c *rpcrdma.Conn) error {
		return client(c).Call(t.Context(), procEcho, &items{data: [][]byte{make([]byte, 100)}},
			&items{})
	}
	for range room {
		c := r.dial(rpcrdma.Config{})
		conns = append(conns, c)
		for range 10 {
			if err := call(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	over, err := r.tryDial(rpcrdma.Config{}, guardAny)
	if reject := new(transport.RejectError); !errors.As(err, &reject) {
		t.Errorf("dialled one too many: %v, %v, want a RejectError", over, err)
	}
	if n := counters.Totals().Refused; n != 1 {
		t.Errorf("%d connections refused, want 1", n)
	}
	for _, c := range conns {
		if err := call(c); err != nil {
			t.Errorf("a connection that was there: %v", err)
		}
	}
	conns[0].Close()
	waitFor(t, func() bool {
		c, err := r.tryDial(rpcrdma.Config{}, guardAny)
		return err == nil && call(c) == nil
	})
	if got := log.String(); !strings.Contains(got, "connection refused") || !strings.Contains(got, "level=WARN") {
		t.Errorf("log %q", got)
	}
}

// TestReceivesBounded: if receives need memory when they are posted, ReceiveMemory limits those of
// all connections, including idle ones. Those of one host take at most half. Later clients get
// less, but their calls succeed.
func TestReceivesBounded(t *testing.T) {
	for _, tt := range []struct {
		name           string
		apart          bool
		receives, most int
	}{
		{"each of a host of its own", true, 40, 40},
		{"of one host", false, 120, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const clients = 5
			smallLimits = transporttest.Limits{NoHold: true}
			defer func() { smallLimits = transporttest.Limits{} }()
			r := newRig(t, rpcrdma.Config{Credits: 16, ReceiveMemory: int64(tt.receives) * 4096})
			r.hosts.apart.Store(tt.apart)
			all := 0
			for range clients {
				c := r.dial(rpcrdma.Config{})
				for range 20 {
					var g errgroup.Group
					for range 16 {
						g.Go(func() error {
							return client(c).Call(t.Context(), procNull, nil, nil)
						})
					}
					if err := g.Wait(); err != nil {
						t.Fatal(err)
					}
				}
				grant, _, _ := c.Credits()
				if grant < 1 || grant > 16 {
					t.Errorf("a grant of %d", grant)
				}
				all += grant
			}
			if all > tt.most {
				t.Errorf("%d credits are granted, and there is memory for %d receives", all,
					tt.most)
			}
			free, size, _ := wait(t, r.program.conns).ReceiveMemory()
			if least := size - int64(tt.most)*4096; free < least {
				t.Errorf("%d bytes of memory are free, want %d or more", free, least)
			}
		})
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

// narrowListener can hand fewer bytes than RFC 8797 takes to some peers, and has none.
type narrowListener struct{ requests }

func (narrowListener) MaxPrivateReply() (accept, reject int) { return 7, 0 }

// TestPrivateReplyTooLong: if private data is too long for some peers, the log says so before
// any has come.
func TestPrivateReplyTooLong(t *testing.T) {
	for _, cfg := range []rpcrdma.Config{{}, {NoPrivateData: true}} {
		var log bytes.Buffer
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		l := narrowListener{make(requests)}
		close(l.requests)
		s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
		if err := rpcrdma.Serve(t.Context(), l, s, cfg); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Serve: %v", err)
		}
		s.Close()
		if got := log.String(); strings.Contains(got, "bytes=8 possible=7") == cfg.NoPrivateData {
			t.Errorf("private data %v: log %q", !cfg.NoPrivateData, got)
		}
	}
}
