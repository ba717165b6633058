package rpcrdma_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// rapidTB has failures be rapid's, which then looks for the shortest way there.
type rapidTB struct {
	testing.TB
	rt       *rapid.T
	cleanups []func()
}

func (t *rapidTB) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }
func (t *rapidTB) clean() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func (t *rapidTB) Error(args ...any)            { t.rt.Error(args...) }
func (t *rapidTB) Errorf(f string, args ...any) { t.rt.Errorf(f, args...) }
func (t *rapidTB) Fatal(args ...any)            { t.rt.Fatal(args...) }
func (t *rapidTB) Fatalf(f string, args ...any) { t.rt.Fatalf(f, args...) }

// serverModel is a client played by hand of a real server, and a model of what that server must
// have: calls under way, pinned replies, RDMA_DONEs, grants. The client keeps to the grants alone.
type serverModel struct {
	*rawPeer
	r       *rig
	conn    *rpcrdma.Conn // the server's end
	credits int

	granted int
	sent    int                      // calls
	under   map[uint32]*modelledCall // unanswered calls, by XID
	blocked int                      // of these, in handlers
	live    []pinnedReply            // in order of arrival
	late    []uint32                 // XIDs of those whose memory was taken back
	// For each RDMA_DONE that the server may not have taken: the value of sent at the time.
	dones []int

	other  *rawPeer // another client
	beside int64    // bytes that wait for memory to read them

	received, ignored, missed uint64 // RDMA_DONEs
}

// modelledCall is a call with an echo of read bytes, in a read chunk if these are many, and with a
// reply chunk of reserve bytes.
type modelledCall struct {
	number        int
	block         bool
	read, reserve int
}

// pinnedReply is a reply that waits to be read.
type pinnedReply struct {
	xid  uint32
	size int
}

// newServerModel makes a server and its client, which takes 1024 bytes inline.
func newServerModel(t testing.TB, cfg rpcrdma.Config) *serverModel {
	cfg.Dialect, cfg.MaxMessage, cfg.PeerTimeout = rpcrdma.Draft, rpcrdma.MaxInline, time.Hour
	p := &serverModel{r: newRig(t, cfg), credits: cfg.Credits, granted: 1,
		under: make(map[uint32]*modelledCall)}
	p.rawPeer = p.r.raw(privateData{Send: 4096, Recv: 1024})
	p.call(1, 1, modelledCall{})
	p.conn = wait(t, p.r.program.conns)
	p.settle()
	return p
}

// may returns how many calls the client may send.
func (p *serverModel) may() int {
	n := len(p.under) + len(p.live) + len(p.late) + len(p.dones)
	if n == 0 {
		return max(1, p.granted)
	}
	return max(0, p.granted-n)
}

func (p *serverModel) call(xid, asked uint32, k modelledCall) {
	p.t.Helper()
	h := header(xid, rpcrdma.TypeMsg)
	h.Credits = asked
	if k.reserve > 0 {
		h.SetReply([]chunks.Segment{p.expose(make([]byte, k.reserve), transport.RemoteWrite)})
	}
	body := callBytes(xid, procNull, nil)
	switch {
	case k.block && k.read > 0:
		body = callBytes(xid, procBlock, &items{data: [][]byte{pattern(0, k.read)}})
	case k.block:
		body = callBytes(xid, procBlock, &items{})
	case k.read > 0:
		body = callBytes(xid, procSource, &source{1, uint32(k.read)})
	}
	p.sent++
	k.number = p.sent
	p.under[xid] = &k
	p.send(h, body)
}

// acknowledge sends an RDMA_DONE, and records what the server must do with it.
func (p *serverModel) acknowledge(xid uint32) {
	p.t.Helper()
	i := slices.IndexFunc(p.live, func(r pinnedReply) bool { return r.xid == xid })
	switch {
	case i >= 0:
		p.live = slices.Delete(p.live, i, i+1)
		p.received++
		p.dones = append(p.dones, p.sent)
	case len(p.late) > 0:
		i := max(0, slices.Index(p.late, xid))
		p.late = slices.Delete(p.late, i, i+1)
		p.ignored++
		p.dones = append(p.dones, p.sent)
	default: // without a reason for the client to send it
		p.ignored++
	}
	p.done(xid)
}

// take takes the replies that have come.
func (p *serverModel) take() {
	p.t.Helper()
	for len(p.msgs) > 0 {
		h, _ := p.next()
		k := p.under[h.XID]
		if k == nil || h.Type == rpcrdma.TypeError || len(h.Reads) > 1 {
			p.t.Fatalf("answer %+v to %+v", h, k)
		}
		delete(p.under, h.XID)
		p.granted = int(h.Credits)
		p.dones = slices.DeleteFunc(p.dones, func(sent int) bool { return sent < k.number })
		if h.Credits == 0 && len(p.under) == 0 {
			p.t.Fatal("nothing is granted, and no reply is to come")
		}
		if len(h.Reads) > 0 {
			if got := p.read(h.Reads[0].Segment); !bytes.Equal(got, pattern(0, k.read)) {
				p.t.Fatal("the reply differs")
			}
			p.live = append(p.live, pinnedReply{h.XID, k.read})
		}
	}
}

// settle waits until the server has taken what was sent and has done what it can. Then all accounts
// must be right.
func (p *serverModel) settle() {
	p.t.Helper()
	waitRight(p.t, func() (wrong string) {
		p.take()
		for len(p.r.program.entered) > 0 {
			<-p.r.program.entered
			p.blocked++
		}
		return p.wrong()
	})
}

// wrong returns the differences from the model.
func (p *serverModel) wrong() string {
	now := rpcrdma.ServerModel{
		Sent: p.sent, Received: p.received, Ignored: p.ignored, Missed: p.missed, Under: make(map[uint32]int),
		Late: len(p.late), Blocked: p.blocked, May: p.may(), Beside: p.beside, Other: p.other != nil,
	}
	for xid, k := range p.under {
		now.Under[xid] = k.reserve
	}
	for _, r := range p.live {
		now.Live = append(now.Live, r.size)
	}
	return p.conn.DiffersFrom(now)
}

// timeLimit has PeerTimeout pass, and reports whether the connection goes on.
func (p *serverModel) timeLimit() bool {
	p.t.Helper()
	if p.beside > 0 && p.credits == 1 { // otherwise the other connection would end
		p.otherDone()
		p.settle()
	}
	for _, r := range p.live {
		p.late = append(p.late, r.xid)
	}
	p.missed += uint64(len(p.live))
	p.live = nil
	quarters(5)
	if p.beside > 0 { // its memory went back too
		p.otherDone()
	}
	return len(p.late) < p.credits
}

// finish answers and acknowledges everything.
func (p *serverModel) finish() {
	p.t.Helper()
	p.settle()
	for len(p.under)+len(p.live) > 0 {
		switch {
		case p.blocked > 0:
			p.r.program.pass(p.t)
			p.blocked--
		case len(p.live) > 0:
			p.acknowledge(p.live[0].xid)
		default: // they wait for the other connection
			p.otherDone()
		}
		p.settle()
	}
}

// otherDone has it acknowledge that.
func (p *serverModel) otherDone() {
	p.t.Helper()
	if p.beside == 0 {
		p.t.Fatal("calls wait for nothing")
	}
	p.other.done(1)
	p.beside = 0
}

// TestPlayed has a client do anything that the protocol allows, and also send RDMA_DONEs for
// nothing. After each step all accounts are right, the connection exists, and whatever waits has a
// reason to. In the end all calls are answered, and all memory is given back.
func TestPlayed(t *testing.T) {
	kinds := []string{
		"read", "read", "read", "reserve", "DONE", "read", "block, and read", "go on", "DONE", "block", "late DONE",
		"other reads", "DONE", "null", "reserve", "go on", "block, and read", "late DONE", "other DONE",
		"DONE for nothing", "time limit",
	}
	rapid.Check(t, func(rt *rapid.T) {
		rapidInBubble(t, rt, func(tb testing.TB) {
			one := func(what string, of ...int) int { return rapid.SampledFrom(of).Draw(rt, what) }
			cfg := rpcrdma.Config{
				Credits:       one("credits", 16, 8, 3, 2, 1),
				ConnMemory:    2 * rpcrdma.MaxInline,
				ServerMemory:  int64(one("server's memory", 2, 3)) * rpcrdma.MaxInline,
				ReceiveMemory: int64(one("memory for messages", 0, 1, 30_000)),
			}
			p := newServerModel(tb, cfg)
			for range one("steps", 40, 120) {
				kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
				xid := rapid.Uint32Range(1, 24).Draw(rt, "transaction id")
				asked := rapid.SampledFrom([]uint32{0, 1, 3, 20}).Draw(rt, "asked for")
				free := p.may() > 0 && p.under[xid] == nil
				switch {
				case kind == "null" && free:
					p.call(xid, asked, modelledCall{})
				case kind == "read" && free:
					p.call(xid, asked, modelledCall{read: one("size", third, third, 30_000, 2000)})
				case kind == "block" && free:
					p.call(xid, asked, modelledCall{block: true})
				case kind == "block, and read" && free:
					p.call(xid, asked, modelledCall{block: true, read: 3000})
				case kind == "reserve" && free:
					p.call(xid, asked, modelledCall{
						block: true, reserve: one("size", 20_000, rpcrdma.MaxInline),
					})
				case kind == "go on" && p.blocked > 0:
					p.r.program.pass(p.t)
					p.blocked--
				case kind == "DONE" && len(p.live) > 0:
					p.acknowledge(p.live[int(xid)%len(p.live)].xid)
				case kind == "late DONE" && len(p.late) > 0:
					p.acknowledge(p.late[int(xid)%len(p.late)])
				case kind == "DONE for nothing" && p.may() > 0:
					p.acknowledge(100 + xid)
				case kind == "time limit" && (xid == 1 || len(p.live)+len(p.late) < p.credits):
					// Otherwise the time limit would end most connections.
					if !p.timeLimit() {
						ended(p.t, p.conn)
						if err := p.conn.Err(); !errors.Is(err, rpcrdma.ErrStalled) {
							rt.Errorf("ended with %v, want %v", err, rpcrdma.ErrStalled)
						}
						return
					}
				case kind == "other reads" && p.beside == 0 && cfg.ReceiveMemory == 0:
					// Otherwise one could hold up the other.
					if p.other == nil {
						p.other = p.r.raw(inline4k)
						p.other.alive()
					}
					p.other.source(1, 1, third)
					p.beside = third
				case kind == "other DONE" && p.beside > 0:
					p.otherDone()
				default:
					continue
				}
				p.settle()
			}
			p.finish()
			if p.beside > 0 {
				p.otherDone()
			}
			if p.may() == 0 {
				rt.Fatal("there is no credit for another call")
			}
			p.call(1, 1, modelledCall{})
			p.settle()
			p.rawPeer.ep.Close()
			ended(p.t, p.conn)
			p.r.memoryBack()
			if free, all, _ := p.conn.ReceiveMemory(); free != all && p.other == nil {
				rt.Errorf("%d bytes of %d for messages free", free, all)
			}
		})
	})
}
