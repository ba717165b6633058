package goxdr_test

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// maxArgs is the limit on arguments of the tests' servers.
const maxArgs = 1<<20 + 1024

const procNull, procList = 0, 3

// impl is an implementation made from functions.
type impl struct {
	null func(context.Context) error
	put  func(context.Context, *notes.Note) error
	get  func(context.Context, string) (notes.GetResult, error)
	list func(context.Context) (*notes.Entry, error)
}

func (i *impl) NotesV1Null(ctx context.Context) error                 { return i.null(ctx) }
func (i *impl) NotesV1Put(ctx context.Context, n *notes.Note) error   { return i.put(ctx, n) }
func (i *impl) NotesV1List(ctx context.Context) (*notes.Entry, error) { return i.list(ctx) }
func (i *impl) NotesV1Get(ctx context.Context, s string) (notes.GetResult, error) {
	return i.get(ctx, s)
}

func newNotebook() *Notebook { return &Notebook{notes: make(map[string]*notes.Note)} }

// text returns the text of a note.
func (b *Notebook) text(t *testing.T, title string) []byte {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.notes[title]
	if n == nil {
		t.Errorf("there is no note %q", title)
		return nil
	}
	return n.Text
}

// program returns i as an RPC program. Procedure 4 has a name here, but is not in notes.x.
func program(i *impl) oncrpc.Program {
	return oncrpc.Program{Name: "notes", Number: notes.NOTES_PROGRAM_NUMBER, Version: 1,
		Procedures: goxdr.Procedures(notes.NewNotesService(i), maxArgs,
			"NULL", "PUT", "GET", "LIST", "NOT THERE")}
}

// serve serves progs over RDMA and over TCP, and runs test with a connection of each kind.
func serve(t *testing.T, cfg rpcrdma.Config, test func(*testing.T, oncrpc.Transport),
	progs ...oncrpc.Program) {
	t.Helper()
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	srv.Handle(progs...)
	fabric := loopback.New()
	rdma, err := fabric.Listen("notes", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- rpcrdma.Serve(t.Context(), rdma, srv, cfg) }()
	go func() { served <- recordmark.Serve(t.Context(), tcp, srv, recordmark.Config{}) }()
	for _, tt := range []struct {
		name string
		dial func() (oncrpc.Transport, error)
	}{
		{"RDMA", func() (oncrpc.Transport, error) {
			return rpcrdma.Dial(t.Context(), fabric.Dialer(loopback.Config{}), "notes", cfg)
		}},
		{"TCP", func() (oncrpc.Transport, error) {
			return recordmark.Dial(t.Context(), tcp.Addr().String(),
				recordmark.Config{EnforceMaxReply: true})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := tt.dial()
			if err != nil {
				t.Fatal(err)
			}
			test(t, conn)
			conn.Close()
			<-conn.Done()
		})
	}
	srv.Shutdown(context.Background())
	<-served
	<-served
}

func newClient(conn oncrpc.Transport, version uint32) *oncrpc.Client {
	return oncrpc.NewClient(conn, notes.NOTES_PROGRAM_NUMBER, version, oncrpc.AuthNone())
}
