package sctp

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// TestOrder receives segments in any order. They are delivered in the order of their DDP-SSNs, but
// the payload of RDMA Writes is placed at once.
func TestOrder(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft %t", draft), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, l := accepted(t, Config{Draft: draft})
				const n = 50
				var want []string
				messages := make([]lower.Message, n)
				got := &sink{memory: make([]byte, 2*n)}
				for i := range n {
					s := sendSegment(i+1, fmt.Sprintf("%02d", i))
					if i%3 > 0 {
						s = writeSegment(2*i, fmt.Sprintf("%02d", i))
					}
					want = append(want, fmt.Sprintf("%x", unhex(t, s)))
					messages[i] = lower.Message{
						PPID: ppidSegment, Unordered: true, First: uint32(i) + p.tsn + 1,
						Data: unhex(t, fmt.Sprintf("%04x", i+1)+s),
					}
					if draft {
						messages[i].PPID, messages[i].Data = ppidDraftSegment, unhex(t, s)
					}
					messages[i].Last = messages[i].First
				}
				// The first comes last.
				rand.Shuffle(n-1, func(i, j int) {
					messages[i+1], messages[j+1] = messages[j+1], messages[i+1]
				})
				for _, m := range messages[1:] {
					p.saysMessage(m)
				}
				synctest.Wait()
				if err := l.Receive(got); err != nil {
					t.Fatal(err)
				}
				if len(got.got) > 0 {
					t.Errorf("delivered before the first has come: %q", got.got)
				}
				for i := range n {
					placed := bytes.Equal(got.memory[2*i:2*i+2], fmt.Appendf(nil, "%02d", i))
					if want := i%3 > 0; placed != want {
						t.Errorf("segment %d is placed before the first has come: %t, want %t", i, placed, want)
					}
				}
				p.saysMessage(messages[0])
				synctest.Wait()
				if err := l.Receive(got); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got.got); d != "" {
					t.Errorf("segments (-want +got):\n%s", d)
				}
				l.Close(false)
			})
		})
	}
}

// TestIndependence: a missing message delays its own stream only. In draft mode it delays all
// streams: they share the order of the association's TSNs.
func TestIndependence(t *testing.T) {
	for _, draft := range []bool{false, true} {
		t.Run(fmt.Sprintf("draft %t", draft), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, first := accepted(t, Config{Draft: draft})
				ppid, begin, ssn := uint32(ppidSegment), "0000 0001", "0001"
				if draft {
					ppid, begin, ssn = ppidDraftSegment, writeSegment(0, ""), ""
				}
				p.says(1, map[bool]uint32{false: ppidControl, true: ppidDraftSegment}[draft], begin)
				c := <-p.offered
				readFrame(t, c, false)
				if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
					t.Fatal(err)
				}
				second := c.LLP(time.Minute)
				if draft {
					if err := second.Receive(new(sink)); err != nil {
						t.Fatal(err)
					}
				}
				segment := unhex(t, ssn+sendSegment(1, "hi"))
				lost := lower.Message{
					Stream: 0, PPID: ppid, Unordered: true, First: p.tsn + 1, Last: p.tsn + 1, Data: segment,
				}
				came := lost
				came.Stream, came.First, came.Last = 1, p.tsn+2, p.tsn+2

				p.saysMessage(came)
				got := new(sink)
				received := make(chan error, 1)
				go func() {
					var err error
					for err == nil && len(got.got) == 0 {
						err = second.Receive(got)
					}
					received <- err
				}()
				synctest.Wait()
				if delivered := len(got.got) == 1; delivered == draft {
					t.Errorf("while another stream lacks something, delivered is %t, want %t",
						delivered, !draft)
				}
				p.saysMessage(lost)
				synctest.Wait()
				if err := <-received; err != nil || len(got.got) != 1 {
					t.Errorf("Receive: %v, %d segments, want 1", err, len(got.got))
				}
				first.Close(false)
				second.Close(false)
			})
		})
	}
}

// TestGap has a message missing for too long.
func TestGap(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(0, ppidSegment, "0002"+sendSegment(2, ""))
		began := time.Now()
		var err error
		for got := new(sink); err == nil; {
			err = l.Receive(got)
		}
		if took := time.Since(began); !errors.Is(err, ddp.ErrStalled) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("got error %v after %v, want %v after a minute or more", err, took, ddp.ErrStalled)
		}
		l.Close(false)
	})
}
