package iwarp_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// replayStage is where sessions are replayed, one at a time.
type replayStage struct {
	s        *replaySession
	listener *iwarp.Listener  // ours, if we respond
	peers    *net.TCPListener // the peer's, if it responds
}

func newReplayStage(t *testing.T, s *replaySession) *replayStage {
	t.Helper()
	st := &replayStage{s: s}
	if s.initiator {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		st.peers = l.(*net.TCPListener)
		return st
	}
	// Peers that do not speak MPA need not wait.
	l, err := iwarp.ListenHolding(listenTCP(t), s.config, 0)
	if err != nil {
		t.Fatal(err)
	}
	st.listener = l
	return st
}

func (st *replayStage) close() {
	if st.s.initiator {
		st.peers.Close()
	} else {
		st.listener.Close()
	}
}

// replayScript is what the peer does: turns as in the capture up to a position in its stream, then
// some more bytes without waiting.
type replayScript struct {
	turns   []replayTurn
	until   int
	whole   bool // play the whole capture, and end the connection properly
	tail    int
	flip    replayFlip
	blind   bool // do not wait for our side, and translate nothing
	lenient bool // our side may miss errors
}

// replayResult is how a session has ended.
type replayResult struct {
	upper *replayUpper // nil if there was no connection
	err   error        // why there was no connection, or why it ended
	info  transport.Info
	peer  *replayPeer
	play  error  // error while playing the peer
	rest  []byte // what the peer received in addition
	drain error  // error of reading rest
}

// replay plays a session to its end. A whole one ends when our upper layer has done everything;
// then the initiator closes.
func (st *replayStage) replay(t *testing.T, script replayScript) (r replayResult) {
	t.Helper()
	r.peer = &replayPeer{s: st.s, flip: script.flip, exposed: make(chan struct{})}
	gone, cancel := context.WithCancel(context.Background()) // ends with the peer
	defer cancel()
	played := make(chan struct{})   // the turns are over
	finished := make(chan struct{}) // so is our side
	go func() {
		defer cancel()
		st.playPeer(&r, &script, played, finished)
	}()
	if script.blind {
		close(r.peer.exposed)
	}
	ep, err := st.connect(gone)
	if err == nil {
		r.info = ep.Info()
		r.upper = newReplayUpper(t, st.s, ep, script.until+script.tail)
		r.upper.lenient = script.lenient
	}
	if !script.blind {
		if r.upper != nil {
			r.peer.windows = r.upper.pairs()
		}
		close(r.peer.exposed)
	}
	if err != nil {
		close(finished)
		<-gone.Done()
		r.err = err
		return r
	}
	r.upper.start()
	<-played
	if script.whole && r.play == nil {
		select {
		case <-r.upper.finished:
		case <-ep.Done():
		}
		if st.s.initiator {
			ep.Close()
		}
	}
	close(finished)
	<-ep.Done()
	<-gone.Done()
	r.err = ep.Err()
	return r
}

// playPeer is the peer's side of replay.
func (st *replayStage) playPeer(r *replayResult, script *replayScript, played chan<- struct{}, finished <-chan struct{}) {
	conn, err := st.peerConn()
	if err != nil {
		r.play = err
		close(played)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute)) // ends a test that would hang
	r.peer.conn = conn
	if st.s.markers {
		r.peer.conn = &markedConn{
			TCPConn: conn, skipOut: len(st.s.peer.startup), skipIn: len(st.s.ours.startup),
			out: marking{crc: st.s.crc}, in: unmarking{crc: st.s.crc},
		}
	}
	r.play = r.peer.play(script.turns, script.until, script.whole)
	close(played)
	if script.whole && r.play == nil {
		<-finished
	}
	r.rest, r.drain = r.peer.rest(script.tail)
}

// peerConn makes the peer's end of the TCP connection.
func (st *replayStage) peerConn() (*net.TCPConn, error) {
	if st.s.initiator {
		return st.peers.AcceptTCP()
	}
	conn, err := net.Dial("tcp", st.listener.Addr().String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// errNoRequest: the peer has gone without sending a request.
var errNoRequest = errors.New("no request")

// connect makes our end of the connection. gone is closed when the peer has gone.
func (st *replayStage) connect(gone context.Context) (transport.Endpoint, error) {
	if st.s.initiator {
		return iwarp.Dialer{Config: st.s.config}.Dial(context.Background(),
			st.peers.Addr().String(), transport.Private(st.s.ours.private))
	}
	req, err := st.listener.Accept(gone)
	if err != nil {
		return nil, errNoRequest
	}
	return req.Accept(context.Background(), transport.Private(st.s.ours.private))
}
