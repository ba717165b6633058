package sctp

import (
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// FuzzSession receives any messages, on several streams, also while no memory is left. Nothing
// panics, and in the end nothing is kept.
func FuzzSession(f *testing.F) {
	say := func(messages ...string) (script []byte) {
		for _, m := range messages {
			p := unhex(f, m)
			script = append(append(script, p[:3]...), byte(len(p)-3))
			script = append(script, p[3:]...)
		}
		return script
	}
	const (
		initiate = "00 03 00 0000 0001"
		enhanced = "01 03 00 0000 0005 8010 4010"
		last     = "00 03 00 0002 0004"
		rest     = "00 02 00 0003" // behind the last
		garbage  = "00 04 00 ffff"
	)
	send, write := "00 02 00 0001"+sendSegment(1, "hi"), "00 02 00 0002"+writeSegment(0, "hi")
	f.Add(uint8(0), say(initiate, send, last))
	f.Add(uint8(0), say(initiate, enhanced, write, rest, send))
	f.Add(uint8(0), say(initiate, last, initiate, garbage))
	f.Add(uint8(1), say("00 00 00"+writeSegment(0, "hi"), "00 00 01"+sendSegment(1, "hi"),
		"01 00 00"+sendSegment(1, "hi"), "00 01 00 00000001"))
	f.Add(uint8(2), say("00 03 00 0000 0002", send, last))
	f.Add(uint8(2), say("00 03 00 0000 0006 8010 4010"))
	f.Add(uint8(4), say(initiate, send, "00 02 00 0002"+sendSegment(2, "hi"), "00 03 00 0003 0004"))
	f.Add(uint8(5), say("00 00 00"+writeSegment(0, "hi"), "00 00 00"+sendSegment(1, "hi"),
		"00 00 40"+sendSegment(1, "hi")))
	f.Fuzz(func(t *testing.T, mode uint8, script []byte) {
		bubble(t, func(t *testing.T) {
			draft, active := mode&1 != 0, mode&2 != 0
			p := newPeer(t, Config{Draft: draft, Window: 64 << 10, StreamMemory: 64 << 10}, active)
			var used int64
			if mode&4 != 0 {
				used = int64(p.cfg.Memory / 2)
				p.cfg.memory.Take(p.a.host, used)
			}
			if active {
				c, err := p.a.open()
				if err != nil {
					t.Fatal(err)
				}
				p.offered <- c
			}
			var sessions sync.WaitGroup
			sessions.Go(func() {
				for {
					select {
					case c := <-p.offered:
						sessions.Go(func() { consume(c) })
					case <-p.a.over:
						select {
						case c := <-p.offered:
							c.Close()
						default:
						}
						return
					}
				}
			})
			for tsn := uint32(1); len(script) >= 4; {
				n := min(int(script[3]), len(script)-4)
				m := lower.Message{
					Stream: uint16(script[0] % 5), PPID: []uint32{1, 2, 16, 17, 51}[script[1]%5],
					Unordered: script[2]&2 == 0, First: tsn, Last: tsn,
					Data: script[4:][:n:n],
				}
				switch script[2] >> 6 {
				case 1: // something is missing
					m.First, m.Last = tsn+1, tsn+1
				case 2: // in fragments
					m.Last++
				}
				tsn = m.Last + 1
				script = script[4+n:]
				select {
				case p.in <- m:
				case <-p.aborted:
					script = nil
				}
			}
			(*fakeAssociation)(p).Abort("")
			<-p.a.over
			sessions.Wait()
			p.cfg.memory.Give(p.a.host, used)
			p.wantMemoryBack()
		})
	})
}

// consume consumes a session until it ends.
func consume(c *Conn) {
	defer c.Close()
	if c.active {
		if c.WriteFrame(&mpa.Frame{Revision: 1}) != nil {
			return
		}
	}
	f := mpa.Frame{Reply: c.active}
	if _, err := c.ReadFrame(&f); err != nil || f.Reject {
		return
	}
	if !c.active {
		reply := mpa.Frame{Reply: true, Enhanced: f.Enhanced, Revision: f.Revision}
		if f.Enhanced {
			reply.PrivateData = make([]byte, 4)
		}
		if c.WriteFrame(&reply) != nil {
			return
		}
	}
	l := c.LLP(time.Minute)
	for l.Receive(new(sink)) == nil {
	}
	l.Close(false)
}

// wantMemoryBack checks that nothing sent by the peer is kept.
func (p *peer) wantMemoryBack() {
	p.t.Helper()
	all := int64(p.cfg.Memory)
	if !p.cfg.memory.Take(p.a.host, all) {
		p.t.Error("memory for messages has not been given back")
		return
	}
	p.cfg.memory.Give(p.a.host, all)
}
