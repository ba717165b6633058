package iwarp_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// mailbox takes messages and completions.
type mailbox struct {
	messages chan transport.Message
	done     chan error
}

func newMailbox() *mailbox {
	return &mailbox{messages: make(chan transport.Message, 8), done: make(chan error, 8)}
}

func (m *mailbox) Received(batch []transport.Message) {
	for _, msg := range batch {
		m.messages <- msg
	}
}

func (m *mailbox) Complete(_ *transport.WorkRequest, err error) { m.done <- err }

// memory returns n bytes that the provider can use.
func memory(ep transport.Endpoint, n int) transport.Slice {
	s, err := ep.Domain().Alloc(n, transport.LocalWrite|transport.RemoteRead|transport.RemoteWrite)
	if err != nil {
		log.Fatal(err)
	}
	return s
}

// This uses the provider without RPC. The server exposes memory and sends its steering tag. The
// client writes there and reads back.
func Example() {
	ctx := context.Background()
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go serve(ctx, l)

	var tag transport.Slice
	prepare := func(ep transport.Endpoint) (private []byte, err error) {
		tag = memory(ep, 12)
		return nil, ep.PostRecv(&transport.RecvRequest{Local: []transport.Slice{tag}})
	}
	ep, err := iwarp.Dialer{}.Dial(ctx, l.Addr().String(), prepare)
	if err != nil {
		log.Fatal(err)
	}
	defer ep.Close()
	box := newMailbox()
	ep.Start(box)
	// the dialing side must send first; an empty message is enough
	ep.Post(&transport.WorkRequest{Op: transport.OpSend, Done: box})

	<-box.messages
	at := transport.Remote{
		STag:   transport.STag(binary.BigEndian.Uint32(tag.Bytes)),
		Offset: binary.BigEndian.Uint64(tag.Bytes[4:]),
	}
	out, in := memory(ep, 16), memory(ep, 16)
	copy(out.Bytes, "put by a Write!!")
	ep.Post(
		&transport.WorkRequest{Op: transport.OpWrite, Remote: at, Local: []transport.Slice{out}, Done: box},
		&transport.WorkRequest{Op: transport.OpRead, Flags: transport.Signaled, Remote: at, Local: []transport.Slice{in}, Done: box},
	)
	fmt.Printf("%v %q\n", <-box.done, in.Bytes)
	// Output: <nil> "put by a Write!!"
}

func serve(ctx context.Context, l *iwarp.Listener) {
	req, err := l.Accept(ctx)
	if err != nil {
		return
	}
	ep, err := req.Accept(ctx, func(ep transport.Endpoint) ([]byte, error) {
		return nil, ep.PostRecv(&transport.RecvRequest{})
	})
	if err != nil {
		log.Fatal(err)
	}
	box := newMailbox()
	windows, err := ep.Expose(nil, []transport.Slice{memory(ep, 16)}, transport.RemoteRead|transport.RemoteWrite)
	if err != nil {
		log.Fatal(err)
	}
	window := windows[0] // iWARP always makes one window
	ep.Start(box)
	<-box.messages
	tag := memory(ep, 12)
	binary.BigEndian.PutUint32(tag.Bytes, uint32(window.STag))
	binary.BigEndian.PutUint64(tag.Bytes[4:], window.Base)
	ep.Post(&transport.WorkRequest{Op: transport.OpSend, Local: []transport.Slice{tag}, Done: box})
	<-ep.Done()
}
