package goxdr_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// bulkNote is a note encoded without generated code, so that RDMA can move its text separately.
type bulkNote struct {
	name string
	text []byte
}

func (n *bulkNote) MarshalXDR(e *xdr.Encoder) {
	e.String(n.name, notes.MAX_TITLE)
	e.BulkBytes(n.text, nil)
}

func (n *bulkNote) UnmarshalXDR(d *xdr.Decoder) {
	if d.Int32() != int32(notes.OK) {
		d.Fail(xdr.ErrValue)
	}
	n.name = d.String(notes.MAX_TITLE)
	n.text = d.BulkInto(n.text)
}

func text(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i >> 3)
	}
	return p
}

// sizes are the lengths of notes: inline with and without a round-up, by chunk, and the longest.
var sizes = []int{0, 1, 4, 100, 5000, 200_003, notes.MAX_TEXT}

// Notes of any length between two ends with generated code.
func TestSizes(t *testing.T) {
	book := newNotebook()
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		c := newClient(conn, 1)
		for _, n := range sizes {
			sent := notes.Note{Name: "long", Text: text(n)}
			if err := c.Call(t.Context(), procPut, goxdr.Args(&sent), nil); err != nil {
				t.Fatalf("PUT of %d bytes: %v", n, err)
			}
			if got := book.text(t, "long"); !bytes.Equal(got, sent.Text) {
				t.Errorf("PUT of %d bytes: others came", n)
			}
			var res notes.GetResult
			err := c.Do(t.Context(), &oncrpc.Request{Procedure: procGet, MaxReply: n + 1024,
				Args:  goxdr.ArgsFunc(notes.WriteTitle, "long"),
				Reply: goxdr.ReplyFunc(notes.ReadGetResult, &res)})
			if err != nil {
				t.Fatalf("GET of %d bytes: %v", n, err)
			}
			if ok, _ := res.(*notes.GetResult_OK); ok == nil || !bytes.Equal(ok.Found.Text, sent.Text) {
				t.Errorf("GET of %d bytes: others came", n)
			}
		}
	}, program(&impl{put: book.NotesV1Put, get: book.NotesV1Get}))
}

// Generated code understands a client whose text is moved by RDMA Read, and the client's buffer
// receives text that generated code sends in the message.
func TestBulkClient(t *testing.T) {
	book := newNotebook()
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		c := newClient(conn, 1)
		for _, n := range sizes {
			want := text(n)
			if err := c.Call(t.Context(), procPut, &bulkNote{"long", want}, nil); err != nil {
				t.Fatalf("PUT of %d bytes: %v", n, err)
			}
			if got := book.text(t, "long"); !bytes.Equal(got, want) {
				t.Errorf("PUT of %d bytes: others came", n)
			}
			into := make([]byte, n)
			res := bulkNote{text: into}
			err := c.Do(t.Context(), &oncrpc.Request{Procedure: procGet, MaxReply: n + 1024,
				Args: goxdr.ArgsFunc(notes.WriteTitle, "long"), Reply: &res})
			if err != nil || !bytes.Equal(into, want) {
				t.Errorf("GET of %d bytes: %v", n, err)
			}
		}
	}, program(&impl{put: book.NotesV1Put, get: book.NotesV1Get}))
}

// Generated code understands a server whose text is moved separately. In the draft's dialect, the
// text comes as a read chunk of the reply.
func TestBulkServer(t *testing.T) {
	for _, cfg := range []rpcrdma.Config{{}, {Dialect: rpcrdma.Draft, NoReplyChunks: true}} {
		book := newNotebook()
		procs := make([]oncrpc.Procedure, procGet+1)
		procs[procPut].Handler = func(ctx context.Context, c *oncrpc.Call) error {
			title := c.Args.String(notes.MAX_TITLE)
			p, err := c.Args.Bulk(notes.MAX_TEXT).Bytes(ctx)
			if err != nil {
				return err
			}
			return book.NotesV1Put(ctx, &notes.Note{Name: title, Text: bytes.Clone(p)})
		}
		procs[procGet].Handler = func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Int32(int32(notes.OK))
			c.Results.String("long", notes.MAX_TITLE)
			c.Results.BulkBytes(book.text(t, "long"), nil)
			return nil
		}
		serve(t, cfg, func(t *testing.T, conn oncrpc.Transport) {
			c := newClient(conn, 1)
			for _, n := range sizes {
				sent := notes.Note{Name: "long", Text: text(n)}
				if err := c.Call(t.Context(), procPut, goxdr.Args(&sent), nil); err != nil {
					t.Fatalf("%v: PUT of %d bytes: %v", cfg.Dialect, n, err)
				}
				if got := book.text(t, "long"); !bytes.Equal(got, sent.Text) {
					t.Errorf("%v: PUT of %d bytes: others came", cfg.Dialect, n)
				}
				var res notes.GetResult
				err := c.Do(t.Context(), &oncrpc.Request{Procedure: procGet, MaxReply: n + 1024,
					Args:  goxdr.ArgsFunc(notes.WriteTitle, "long"),
					Reply: goxdr.ReplyFunc(notes.ReadGetResult, &res)})
				if err != nil {
					t.Fatalf("%v: GET of %d bytes: %v", cfg.Dialect, n, err)
				}
				if ok, _ := res.(*notes.GetResult_OK); ok == nil || !bytes.Equal(ok.Found.Text, sent.Text) {
					t.Errorf("%v: GET of %d bytes: others came", cfg.Dialect, n)
				}
			}
		}, oncrpc.Program{Number: notes.NOTES_PROGRAM_NUMBER, Version: 1, Procedures: procs})
	}
}
