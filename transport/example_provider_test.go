package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// standard are the limits of an endpoint.
var standard = transport.Info{
	IRD: 16, ORD: 16, SendDepth: 256, RecvDepth: 256, MaxRegions: 1000, EndpointTags: true,
	RemoteInvalidate: true,
}

const maxPrivate = 64 // bytes

// A whole provider in one file. It connects endpoints of one process, and has none of the optional
// abilities. It uses packages stag and ring for steering tags and queues, and passes
// transporttest.Run.
func Example_provider() {
	l := newListener("server", standard)
	defer l.Close()
	go func() {
		req, _ := l.Accept(context.Background())
		server, _ := req.Accept(context.Background(), nil)
		server.Start(printer(nil))
		server.Post(&transport.WorkRequest{
			Op: transport.OpSend, Local: memory("hello"), Done: printer(nil),
		})
	}()
	prepare := func(client transport.Endpoint) (private []byte, err error) {
		return nil, client.PostRecv(&transport.RecvRequest{Local: memory("     ")})
	}
	client, err := dialer{l}.Dial(context.Background(), "server", prepare)
	if err != nil {
		fmt.Println(err)
		return
	}
	got := make(printer)
	client.Start(got)
	fmt.Println(<-got)
	client.Close()
	<-client.Done()
	// Output: hello
}

// printer hands on what arrives.
type printer chan string

func (p printer) Received(batch []transport.Message) {
	p <- string(batch[0].Receive.Local[0].Bytes)
}

func (printer) Complete(*transport.WorkRequest, error) {}

func memory(s string) []transport.Slice { return []transport.Slice{{Bytes: []byte(s)}} }

type addr string

func (addr) Network() string  { return "minimal" }
func (a addr) String() string { return string(a) }

// opError wraps err, if there is one.
func opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &transport.OpError{Op: op, Provider: "minimal", Err: err}
}

// link is a connection. One goroutine, run, carries out the requests of both ends.
type link struct {
	client, server *endpoint

	mu    sync.Mutex // guards the fields below, and the queues of the ends
	work  sync.Cond  // signalled when there may be work
	ended bool
}

type endpoint struct {
	stag.Windows
	l        *link
	peer     *endpoint // nil while this end is prepared
	info     transport.Info
	sends    ring.Ring[*transport.WorkRequest]
	recvs    ring.Ring[*transport.RecvRequest]
	receiver transport.MessageHandler
	err      error // why the connection ended
	done     chan struct{}
}

func newEndpoint(l *link, limits transport.Info, local, remote addr) *endpoint {
	limits.Provider, limits.LocalAddr, limits.RemoteAddr = "minimal", local, remote
	e := &endpoint{
		l: l, info: limits, done: make(chan struct{}),
		sends: ring.New[*transport.WorkRequest](limits.SendDepth),
		recvs: ring.New[*transport.RecvRequest](limits.RecvDepth),
	}
	e.Windows = stag.Windows{Table: stag.New(limits.MaxRegions, nil), Owner: &e.info}
	return e
}

// discard ends an endpoint that gets no connection.
func (e *endpoint) discard(err error) {
	e.locked(func() { e.err = err })
	e.Table.Close()
	close(e.done)
}

// locked calls f in the lock of the link, and wakes run.
func (e *endpoint) locked(f func()) {
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	f()
	e.l.work.Signal()
}

func (e *endpoint) Start(r transport.MessageHandler) { e.locked(func() { e.receiver = r }) }

func (e *endpoint) Post(wrs ...*transport.WorkRequest) error {
	return post(e, &e.sends, wrs, e.info.CheckPost(wrs))
}

func (e *endpoint) PostRecv(rs ...*transport.RecvRequest) error {
	return post(e, &e.recvs, rs, e.info.CheckPostRecv(rs))
}

// post adds requests to a queue, all or none. If err is set, it adds none and returns err.
func post[T any](e *endpoint, q *ring.Ring[T], all []T, err error) error {
	e.locked(func() {
		switch {
		case err != nil:
		case e.err != nil:
			err = transport.ClosedError(e.err)
		case !q.Room(len(all)):
			err = transport.ErrQueueFull
		default:
			for _, v := range all {
				q.Push(v)
			}
		}
	})
	return opError("post", err)
}

func (e *endpoint) Domain() transport.Domain { return stag.Heap{} }
func (e *endpoint) Info() transport.Info     { return e.info }
func (e *endpoint) Done() <-chan struct{}    { return e.done }

func (e *endpoint) Err() (err error) {
	e.locked(func() { err = e.err })
	return err
}

func (e *endpoint) Close() error {
	e.end(opError("close", net.ErrClosed), opError("receive", transport.ErrClosedByPeer))
	return nil
}

// end ends the connection, for a reason at either end, unless it has ended before.
func (e *endpoint) end(here, there error) {
	e.locked(func() {
		if !e.l.ended && e.err == nil {
			e.l.ended, e.err, e.peer.err = true, here, there
		}
	})
}

// run carries out requests until the connection has ended, and then takes it apart. If an upper
// layer ends the goroutine (runtime.Goexit), the connection ends, and another goroutine goes on.
func (l *link) run() {
	finished := false
	defer func() {
		if !finished {
			gone := opError("call", transport.ErrGoexit)
			l.client.end(gone, gone)
			go l.run()
		}
	}()
	l.serve()
	ends := []*endpoint{l.client, l.server}
	for _, e := range ends {
		e.Table.Close() // memory is not accessed after this
		for wr, ok := e.sends.Pop(); ok; wr, ok = e.sends.Pop() {
			wr.Done.Complete(wr, opError(wr.Op.String(), transport.ErrFlushed))
		}
	}
	for _, e := range ends {
		close(e.done)
	}
	finished = true
}

// serve carries out requests until the connection has ended.
func (l *link) serve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.ended {
		if first, second := l.client.step(), l.server.step(); !first && !second && !l.ended {
			l.work.Wait()
		}
	}
}

// step carries out the next request of e, if there is one. The lock is held, but not while
// anybody else's code runs, which need not return.
func (e *endpoint) step() bool {
	if e.l.ended || e.sends.Len() == 0 {
		return false
	}
	if wr := *e.sends.At(0); e.peer.receiver == nil && wr.Op != transport.OpInvalidate {
		return false // the peer must have been started
	}
	wr, _ := e.sends.Pop()
	m := transport.Message{Solicited: wr.Flags&transport.Solicited != 0}
	send := wr.Op == transport.OpSend || wr.Op == transport.OpSendInvalidate
	if send {
		m.Receive, _ = e.peer.recvs.Pop()
	}
	e.l.mu.Unlock()
	defer e.l.mu.Lock()
	err := e.execute(wr, &m)
	if err != nil {
		here := opError(wr.Op.String(), fmt.Errorf("%w: %w", transport.ErrTerminated, err))
		e.end(here, opError(wr.Op.String(), err))
		wr.Done.Complete(wr, here)
		return true
	}
	if wr.Flags&transport.Signaled != 0 {
		wr.Done.Complete(wr, nil)
	}
	if send {
		e.peer.receiver.Received([]transport.Message{m})
	}
	return true
}

// execute checks a request and copies its data. The table of the end that owns the memory decides
// what is permitted.
func (e *endpoint) execute(wr *transport.WorkRequest, m *transport.Message) error {
	switch wr.Op {
	case transport.OpWrite:
		return e.peer.Table.Write(wr.Remote.STag, wr.Remote.Offset, wr.Local)
	case transport.OpRead:
		return e.peer.Table.Read(wr.Local, wr.Remote.STag, wr.Remote.Offset)
	case transport.OpInvalidate:
		e.Table.End(wr.Invalidate)
		return nil
	}
	if m.Len = transport.TotalLen(wr.Local); m.Receive == nil {
		return transport.ErrNoReceive
	}
	if m.Len > transport.TotalLen(m.Receive.Local) {
		return transport.ErrTooLong
	}
	if wr.Op == transport.OpSendInvalidate {
		m.Invalidated, m.HasInvalidate = wr.Invalidate, true
		if err := e.peer.Table.Invalidate(wr.Invalidate); err != nil {
			return err
		}
	}
	stag.Copy(m.Receive.Local, wr.Local)
	return nil
}

// listener takes requests from Dial to Accept by a channel, on which dialers wait.
type listener struct {
	addr    addr
	limits  transport.Info
	backlog chan *request
	closed  chan struct{}
	close   func()
}

func newListener(a addr, limits transport.Info) *listener {
	l := &listener{addr: a, limits: limits, backlog: make(chan *request), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *listener) Accept(ctx context.Context) (transport.Request, error) {
	r, err := transport.AwaitRequest(ctx, l.backlog, l.closed)
	if err != nil {
		return nil, opError("accept", err)
	}
	return r, nil
}

func (l *listener) MaxPrivateReply() (accept, reject int) { return maxPrivate, maxPrivate }
func (l *listener) Addr() net.Addr                        { return l.addr }
func (l *listener) Close() error                          { l.close(); return nil }

// dialer connects to one listener.
type dialer struct{ l *listener }

func (dialer) MaxPrivateData() int { return maxPrivate }

func (d dialer) Dial(ctx context.Context, a string, prepare transport.Preparation) (
	transport.Endpoint, error) {
	r := &request{l: d.l, link: new(link), ctx: ctx, answer: make(chan answer)}
	r.work.L = &r.mu
	r.client = newEndpoint(r.link, d.l.limits, "client", d.l.addr)
	if err := prepare.Connect("dial", r.client, r.ask, r.client.discard); err != nil {
		return nil, err
	}
	return r.client, nil
}

// request is a Dial that waits for the decision, until its context ends.
type request struct {
	l *listener
	*link
	private []byte
	ctx     context.Context
	answer  chan answer
}

// answer accepts a request, or rejects it with an error.
type answer struct {
	private []byte
	err     error
}

// ask asks the listener, and waits for the decision.
func (r *request) ask(private []byte) error {
	if len(private) > maxPrivate {
		return transport.ErrPrivateData
	}
	r.private = bytes.Clone(private)
	select {
	case r.l.backlog <- r:
	case <-r.l.closed:
		return errors.New("nobody listens")
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
	select {
	case a := <-r.answer:
		r.client.info.PrivateData = a.private
		return a.err
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

func (r *request) Info() transport.Info {
	return transport.Info{
		Provider: "minimal", LocalAddr: r.l.addr, RemoteAddr: addr("client"),
		PrivateData: r.private,
	}
}

func (r *request) Accept(_ context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	e := newEndpoint(r.link, r.l.limits, r.l.addr, "client")
	e.info.PrivateData = r.private
	err := prepare.Connect("accept", e, func(private []byte) error {
		if len(private) > maxPrivate {
			return transport.ErrPrivateData
		}
		r.server, r.client.peer, e.peer = e, e, r.client
		return r.decide(answer{private: bytes.Clone(private)})
	}, e.discard)
	if err != nil {
		return nil, err
	}
	go r.run()
	return e, nil
}

func (r *request) Reject(private []byte) error {
	if len(private) > maxPrivate {
		return opError("reject", transport.ErrPrivateData)
	}
	refusal := &transport.RejectError{PrivateData: bytes.Clone(private)}
	return opError("reject", r.decide(answer{err: refusal}))
}

// decide tells the Dial.
func (r *request) decide(a answer) error {
	select {
	case r.answer <- a:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}
