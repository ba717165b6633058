package goxdr_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// Notebook implements notes.Notes, the interface generated from the program in notes.x.
type Notebook struct {
	mu    sync.Mutex // guards notes
	notes map[string]*notes.Note
}

func (b *Notebook) NotesV1Null(context.Context) error { return nil }

func (b *Notebook) NotesV1Put(_ context.Context, n *notes.Note) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes[n.Name] = n
	return nil
}

func (b *Notebook) NotesV1Get(_ context.Context, title string) (notes.GetResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.notes[title]; n != nil {
		return &notes.GetResult_OK{Found: *n}, nil
	}
	return &notes.GetResult_default{Stat: notes.NOT_FOUND}, nil
}

func (b *Notebook) NotesV1List(context.Context) (*notes.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list *notes.Entry
	for title := range b.notes {
		list = &notes.Entry{Name: title, Next: list}
	}
	return list, nil
}

// The procedures of notes.x, by number.
const (
	procPut = 1
	procGet = 2
)

// Serve and call a program from a .x file over RDMA. go generate makes notes.go from it: see
// internal/notes/doc.go.
func Example() {
	ctx := context.Background()
	fabric := loopback.New() // or a provider that crosses a network
	l, err := fabric.Listen("notes", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	service := notes.NewNotesService(&Notebook{notes: make(map[string]*notes.Note)})
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Name: "notes", Number: notes.NOTES_PROGRAM_NUMBER, Version: 1,
		Procedures: goxdr.Procedures(service, 2<<20, "NULL", "PUT", "GET", "LIST")})
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{}) // recordmark.Serve for TCP
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "notes", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	client := oncrpc.NewClient(conn, notes.NOTES_PROGRAM_NUMBER, 1, oncrpc.AuthNone())

	note := notes.Note{Name: "groceries", Text: []byte("milk, bread")}
	if err := client.Call(ctx, procPut, goxdr.Args(&note), nil); err != nil {
		log.Fatal(err)
	}
	for _, title := range []string{"groceries", "homework"} {
		var res notes.GetResult
		err := client.Do(ctx, &oncrpc.Request{
			Procedure: procGet,
			Args:      goxdr.ArgsFunc(notes.WriteTitle, title),
			Reply:     goxdr.ReplyFunc(notes.ReadGetResult, &res),
			MaxReply:  2 << 20, // the longest note
		})
		if err != nil {
			log.Fatal(err)
		}
		switch res := res.(type) {
		case *notes.GetResult_OK:
			fmt.Printf("%s: %s\n", title, res.Found.Text)
		default:
			fmt.Printf("%s: %s\n", title, notes.Status_name[res.GetStat()])
		}
	}
	// Output:
	// groceries: milk, bread
	// homework: NOT_FOUND
}
