package rpcrdma_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestCancelBeforeReads cancels a call before its reply with a read list comes. Nothing is read,
// and the server still gets an RDMA_DONE.
func TestCancelBeforeReads(t *testing.T) {
	const size = 5001
	c, p := rawServer(t, rpcrdma.Config{Dialect: rpcrdma.Draft}, inline4k)
	ctx, cancel := context.WithCancel(t.Context())
	land := make([]byte, size)
	s := start(ctx, c, &items{data: [][]byte{{1}}}, land)
	h, _ := p.next()
	cancel()
	if err := wait(t, s.err); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	scribble(land)
	r := header(h.XID, rpcrdma.TypeMsg)
	segs, _ := chunks.Distribute(nil, h.Writes[0], 0)
	r.AddWrite(segs)
	// Reading this would end the connection.
	r.Reads = []chunks.ReadSegment{{Position: 36, Segment: chunks.Segment{Handle: 1, Length: size}}}
	p.send(r, result(h.XID, size))
	p.nextDone(h.XID, 64)
	clientWorks(t, c, p)
	untouched(t, land)
	if got := c.Stats(); got.Cancelled != 1 || got.LateReplies != 1 || got.DonesSent != 1 {
		t.Errorf("counters %+v", got)
	}
}

// TestCancelWhileReading cancels a call at each stage of reading the chunks of its reply. The Reads
// continue, the RDMA_DONE follows them, and the caller's memory is not touched.
func TestCancelWhileReading(t *testing.T) {
	const size, parts = 9000, 3
	for _, long := range []bool{false, true} {
		for stage := range parts + 1 {
			t.Run(fmt.Sprintf("long %v, %d Reads complete", long, stage), func(t *testing.T) {
				made, hold := heldReads()
				observer := &lastInfo{}
				c, p := rawServerOn(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Observer: observer},
					inline4k, hold)
				held := wait(t, made)
				if long {
					back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
					back.Handle(newProgram().program())
					defer back.Close()
					c.Serve(back)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				data, land := pattern(1, size), make([]byte, size)
				s := start(ctx, c, &items{data: [][]byte{{1}}}, land)
				h, _ := p.next()
				r := header(h.XID, rpcrdma.TypeMsg)
				segs, _ := chunks.Distribute(nil, h.Writes[0], 0)
				r.AddWrite(segs)
				if long {
					r.Type = rpcrdma.TypeNoMsg
					m := echoReply(h.XID, data)
					r.Reads = p.readSegments(0, m[:100], m[100:5000], m[5000:])
					p.send(r)
				} else {
					r.Reads = p.readSegments(36, data[:3000], data[3000:6000], data[6000:])
					p.send(r, result(h.XID, size))
				}
				held.release(t, stage)
				// The reply has arrived. The call is not given up before that.
				waitFor(t, func() bool { return len(held.queue) == parts-stage })
				if stage == parts {
					p.nextDone(h.XID, 64)
				}
				cancel()
				err := wait(t, s.err)
				switch {
				case stage == parts && err == nil: // it was here
				case !errors.Is(err, context.Canceled):
					t.Fatal(err)
				}
				scribble(land)
				if stage < parts {
					if len(p.msgs) > 0 {
						t.Error("the server got something before the Reads were complete")
					}
					held.release(t, parts-stage)
					p.nextDone(h.XID, 64)
				}
				clientWorks(t, c, p)
				untouched(t, land)
				if got := c.Stats(); got.DonesSent != 1 || got.Malformed != 0 {
					t.Errorf("counters %+v", got)
				}
			})
		}
	}
}

// TestCancelStormReads cancels calls at random moments while a real server leaves its replies to be
// read.
func TestCancelStormReads(t *testing.T) {
	r := newRig(t, rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: 8})
	c := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft, Credits: 8, NoReplyChunks: true, Observer: new(bytesRead)})
	const workers, rounds, size = 6, 60, 30_000
	errs := make(chan error, workers)
	for w := range workers {
		go func() {
			errs <- func() error {
				land := make([]byte, size)
				for i := range rounds {
					ctx, cancel := context.WithCancel(t.Context())
					if w%2 == 0 {
						go func() {
							for range i * 40 { // a delay of any length
								if ctx.Err() != nil {
									return
								}
							}
							cancel()
						}()
					}
					reply := items{data: [][]byte{land, land}, land: true}
					err := client(c).Do(ctx, &oncrpc.Request{Procedure: procSource, Args: &source{2, size}, Reply: &reply, Results: reply.data, MaxReply: 64})
					cancel()
					switch {
					case err == nil:
						if !bytes.Equal(land, pattern(1, size)) {
							return fmt.Errorf("worker %d round %d: result differs", w, i)
						}
					case w%2 == 0 && errors.Is(err, context.Canceled):
					default:
						return fmt.Errorf("worker %d round %d: %w", w, i, err)
					}
					scribble(land)
				}
				return nil
			}()
		}()
	}
	for range workers {
		if err := wait(t, errs); err != nil {
			t.Error(err)
		}
	}
	// Each reply with a read list was answered with an RDMA_DONE.
	waitFor(t, func() bool {
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Fatal(err)
		}
		_, used, _ := c.Credits()
		return used == 0
	})
	conn := wait(t, r.program.conns)
	waitFor(t, func() bool { return r.server.Stats().InFlight == 0 })
	r.memoryBack()
	cs, ss := c.Stats(), conn.Stats()
	if cs.DonesSent == 0 || cs.DonesSent != ss.DonesReceived || ss.DonesIgnored != 0 {
		t.Errorf("client sent %d RDMA_DONEs, the server took %d and ignored %d", cs.DonesSent,
			ss.DonesReceived, ss.DonesIgnored)
	}
}
