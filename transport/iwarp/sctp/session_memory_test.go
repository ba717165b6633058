package sctp

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// TestOverrun has a consumer that stops. Its session ends, and the other streams go on.
func TestOverrun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(1, ppidControl, "0000 0001")
		other := <-p.offered
		for i := range DefaultStreamMemory/2048 + 1 {
			p.says(0, ppidSegment, fmt.Sprintf("%04x", i+1)+sendSegment(i+1, string(make([]byte, 1000))))
		}
		p.says(1, ppidControl, "0001 0004")
		readFrame(t, other, false)
		synctest.Wait()
		if n := p.cfg.Counters.Stats().Overruns; n != 1 {
			t.Errorf("%d overruns are counted, want 1", n)
		}
		var err error
		for got := new(sink); err == nil; {
			err = l.Receive(got)
		}
		if !errors.Is(err, ErrOverrun) {
			t.Errorf("got error %v, want %v", err, ErrOverrun)
		}
		l.Close(false)
		p.wantHeard("0 17: 00010004")
	})
}

// TestMemory: messages that wait for consumers take no more memory than their host may have, on all
// its streams together. In the end all of it is given back.
func TestMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, first := accepted(t, Config{Window: 64 << 10, StreamMemory: 64 << 10, Memory: 128 << 10})
		p.says(1, ppidControl, "0000 0001")
		c := <-p.offered
		readFrame(t, c, false)
		if err := c.WriteFrame(&mpa.Frame{Reply: true, Revision: 1}); err != nil {
			t.Fatal(err)
		}
		second := c.LLP(time.Minute)
		n := 0 // messages received on stream 0, and on stream 1 after a gap
		for range 64 << 10 / 2048 {
			segment := sendSegment(n+1, string(make([]byte, 1000)))
			p.says(0, ppidSegment, fmt.Sprintf("%04x", n+1)+segment)
			if synctest.Wait(); p.cfg.Counters.Stats().Overruns > 0 {
				break
			}
			p.says(1, ppidSegment, fmt.Sprintf("%04x", n+2)+segment)
			if n++; p.cfg.Counters.Stats().Overruns > 0 {
				break
			}
		}
		synctest.Wait()
		if n < 16 || n > 17 || p.cfg.Counters.Stats().Overruns != 1 {
			t.Errorf("%d messages of 2 KiB on each stream, %d overruns, want 17 and 1",
				n, p.cfg.Counters.Stats().Overruns)
		}
		first.Close(false)
		second.Close(false)
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
		p.wantMemoryBack()
	})
}

// TestOwed: while the share of a host is used up, a session goes on by one message at a time. In
// the end all memory is given back.
func TestOwed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		used := int64(p.cfg.Memory/2 - 1<<10)
		if !p.cfg.memory.Take(p.a.host, used) {
			t.Fatal("no memory")
		}
		const n = 5
		go func() {
			for i := range n {
				p.says(0, ppidSegment, fmt.Sprintf("%04x", i+1)+sendSegment(i+1, string(make([]byte, 1000))))
			}
		}()
		got := new(sink)
		for len(got.got) < n {
			synctest.Wait()
			if waits := p.cfg.memory.Room(p.a.host); waits > 1<<10 {
				t.Errorf("there is room for %d bytes", waits)
			}
			if err := l.Receive(got); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.cfg.Counters.Stats().Overruns; n > 0 {
			t.Errorf("%d overruns", n)
		}
		l.Close(false)
		(*fakeAssociation)(p).Abort("")
		<-p.a.over
		p.cfg.memory.Give(p.a.host, used)
		p.wantMemoryBack()
	})
}

// TestHeld holds a segment until Resume, and ends with Interrupt.
func TestHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, l := accepted(t, Config{})
		p.says(0, ppidSegment, "0001"+sendSegment(1, "hi"))
		got := &sink{hold: true}
		synctest.Wait()
		if err := l.Receive(got); err != ddp.ErrHold {
			t.Fatalf("got error %v, want %v", err, ddp.ErrHold)
		}
		go func() {
			time.Sleep(time.Hour)
			l.Resume()
		}()
		if err := l.Hold(); err != nil {
			t.Error(err)
		}
		got.hold = false
		if err := l.Receive(got); err != nil || len(got.got) != 1 {
			t.Errorf("Receive: %v, %q", err, got.got)
		}
		go func() {
			time.Sleep(time.Hour)
			l.Interrupt()
		}()
		if err := l.Receive(got); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("interrupted: got error %v, want %v", err, os.ErrDeadlineExceeded)
		}
		l.Close(false)
	})
}
