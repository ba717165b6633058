package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// stoppedRig is a server of iWARP in virtual time, whose memory for receives is enough for a few
// connections, and peers that make a call, begin another message, and stop.
type stoppedRig struct {
	*rig
	network  *faultnet.Memory
	counters *iwarp.Counters
	conns    []net.Conn
}

const (
	// aStall is the StallTimeout of a stoppedRig.
	aStall = 30 * time.Second

	// maxStopped is the longest time for a stopped message: one and a half times aStall.
	maxStopped = aStall * 3 / 2

	// busyAtATime is the number of connections that can have memory at a time.
	busyAtATime = 6
)

func newStoppedRig(t *testing.T) *stoppedRig {
	t.Helper()
	s := &stoppedRig{
		network: faultnet.NewMemory(faultnet.Config{}), counters: new(iwarp.Counters),
	}
	below, err := s.network.Listen("10.0.0.1:20049")
	if err != nil {
		t.Fatal(err)
	}
	cfg := iwarp.Config{
		CRC: iwarp.CRCOff, StallTimeout: aStall, NudgeAfter: -1, Counters: s.counters, Logger: quiet,
	}
	l, err := iwarp.NewListener(below, cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := iwarp.Dialer{Config: cfg, DialContext: s.network.Dialer("10.0.0.2")}
	const credits, receive = 16, 4096
	s.rig = serveRig(t, rpcrdma.Config{
		Credits: credits, ReceiveMemory: busyAtATime * (credits + 1) * receive,
	}, l, d, sameEndpoint)
	t.Cleanup(func() {
		for _, c := range s.conns {
			c.Close()
		}
	})
	return s
}

// begin has n peers, each on its own host, make a call and then begin another one.
func (s *stoppedRig) begin(n int) {
	s.t.Helper()
	for i := range n {
		host := fmt.Sprintf("10.1.%d.%d", i/250, 1+i%250)
		conn, err := s.network.Dialer(host)(context.Background(), "tcp", s.addr)
		if err != nil {
			s.t.Fatal(err)
		}
		s.conns = append(s.conns, conn)
		if _, err := mpa.Initiate(conn, mpa.Config{IRD: 1, ORD: 1}, nil); err != nil {
			s.t.Fatal(err)
		}
		call := append(header(9, rpcrdma.TypeMsg).Append(nil), callBytes(9, procNull, nil)...)
		conn.Write(sendFPDU(1, true, call))
	}
	synctest.Wait() // the replies bring credits for many calls
	for _, conn := range s.conns {
		conn.Write(sendFPDU(2, false, header(10, rpcrdma.TypeMsg).Append(nil)))
		synctest.Wait()
	}
}

// sendFPDU is an FPDU, without CRC, of a Send or of the first part of one.
func sendFPDU(msn uint32, last bool, payload []byte) []byte {
	h := ddp.Header{
		Last: last, Version: ddp.Version, Control: rdmap.Control(ddp.Version, rdmap.OpSend), MSN: msn,
	}
	ulpdu := append(h.Append(nil), payload...)
	fpdu := append([]byte{byte(len(ulpdu) >> 8), byte(len(ulpdu))}, ulpdu...)
	return append(fpdu, make([]byte, -len(fpdu)&3+4)...)
}

// calls makes calls at a time from a client that does its part, and returns how long the slowest
// takes.
func (s *stoppedRig) calls(c *rpcrdma.Conn, n int) (slowest time.Duration) {
	s.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Hour)
	defer cancel()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := client(c).Call(ctx, procNull, nil, nil); err != nil {
				s.t.Error(err)
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

// TestStoppedPeers: more peers than fit in memory each begin a message and stop. Peers with memory
// lose it in time, one group after another, and the calls of a client that waits after them all are
// answered. Peers that had to wait for the whole timeout still get a quarter of it when they get
// memory, because they might have continued. Each of them ends.
func TestStoppedPeers(t *testing.T) {
	for _, peers := range []int{busyAtATime, 50} {
		t.Run(fmt.Sprint(peers), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newStoppedRig(t)
				c := s.dialOn(rpcrdma.Config{}, sameEndpoint)
				s.calls(c, 1)
				s.begin(peers)
				lots := (peers + busyAtATime - 1) / busyAtATime
				most := maxStopped + time.Duration(lots-1)*aStall/4
				if took := s.calls(c, 64); took > most {
					t.Errorf("the slowest of 64 calls took %v, want %v at most", took, most)
				}
				time.Sleep(aStall)
				synctest.Wait()
				if got := s.counters.Stats().Stalls; got != uint64(peers) {
					t.Errorf("%d connections have stalled, want %d", got, peers)
				}
				if took := s.calls(c, 64); took > time.Second {
					t.Errorf("64 calls took %v when all had ended", took)
				}
				c.Close()
				time.Sleep(time.Minute) // ended connections wait for their peers to close
			})
		})
	}
}

// TestGonePeers: such peers disconnect while their messages wait for memory. They do not delay a
// client that waits after them.
func TestGonePeers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newStoppedRig(t)
		c := s.dialOn(rpcrdma.Config{}, sameEndpoint)
		s.calls(c, 1)
		s.begin(50)
		for _, conn := range s.conns[busyAtATime:] {
			conn.Close()
		}
		if took := s.calls(c, 64); took > maxStopped {
			t.Errorf("the slowest of 64 calls took %v, want %v at most", took, maxStopped)
		}
		if got := s.counters.Stats().Stalls; got > busyAtATime {
			t.Errorf("%d connections have stalled, want %d", got, busyAtATime)
		}
		ended := 0
		for range 51 {
			if conn := wait(t, s.program.conns); errors.Is(conn.Err(), transport.ErrClosedByPeer) {
				ended++
			}
		}
		if ended != 50-busyAtATime {
			t.Errorf("%d connections have been closed by their peers, want %d", ended, 50-busyAtATime)
		}
		c.Close()
		time.Sleep(time.Minute)
	})
}
