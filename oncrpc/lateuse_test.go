package oncrpc_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// keeper is a handler that passes what it was lent to a goroutine, which uses it after the reply.
type keeper struct {
	late   chan struct{} // closed when the reply has arrived
	panics chan string   // what each use panics with, or "no panic"
}

func (k *keeper) handle(_ context.Context, c *oncrpc.Call) error {
	args, results := c.Args, c.Results
	data := args.Bulk(1 << 20)
	uses := []func(){
		func() { results.Uint32(0xbad) },
		func() { results.BulkBytes([]byte("bad"), nil) },
		func() { c.Results.Uint32(0xbad) },
		func() { args.Uint32() },
		func() { c.Args.Uint32() },
	}
	if !data.Ready() {
		uses = append(uses,
			func() { data.Bytes(context.Background()) },
			func() { data.FetchInto(context.Background(), [][]byte{make([]byte, data.Len())}) })
	}
	go func() {
		<-k.late
		for _, use := range uses {
			k.panics <- panicOf(use)
		}
		close(k.panics)
	}()
	results.Uint32(1)
	return nil
}

func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return "no panic"
}

// echoBytes is bulk data there and back.
type echoBytes struct{ data []byte }

func (e *echoBytes) MarshalXDR(enc *xdr.Encoder)   { enc.BulkBytes(e.data, nil) }
func (e *echoBytes) UnmarshalXDR(dec *xdr.Decoder) { e.data = bytes.Clone(dec.Opaque(1 << 20)) }

func returned(ctx context.Context, c *oncrpc.Call) error {
	data, err := c.Args.Bulk(1 << 20).Bytes(ctx)
	if err != nil {
		return err
	}
	c.Results.BulkBytes(data, nil)
	return nil
}

// A goroutine panics if it uses what a handler was lent after the handler has returned. Other calls
// are not affected.
func TestLateUse(t *testing.T) {
	for name, over := range carriers {
		for _, n := range []int{10, 100_000} { // inline; by read chunk over RDMA
			t.Run(fmt.Sprintf("%s/%d bytes", name, n), func(t *testing.T) {
				k := &keeper{make(chan struct{}), make(chan string)}
				s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: k.handle}, oncrpc.Procedure{Handler: returned})
				dial := over(t, s)
				one, other := connect(t, dial), connect(t, dial)
				defer one.Close()
				defer other.Close()
				var reply word
				client := oncrpc.NewClient(one, testProgram, testVersion, oncrpc.AuthNone())
				if err := client.Call(t.Context(), 1, &echoBytes{make([]byte, n)}, &reply); err != nil || reply.n != 1 {
					t.Fatalf("got %d, %v", reply.n, err)
				}
				for s.Stats().InFlight > 0 { // the call ends when its reply is sent
					runtime.Gosched()
				}
				// and the transport is done with it
				if err := client.Call(t.Context(), 0, nil, nil); err != nil {
					t.Fatal(err)
				}
				close(k.late)
				client = oncrpc.NewClient(other, testProgram, testVersion, oncrpc.AuthNone())
				for i := 0; ; i++ {
					want := bytes.Repeat([]byte{byte(i)}, n)
					var got echoBytes
					err := client.Do(t.Context(), &oncrpc.Request{Procedure: 2, Args: &echoBytes{want}, Reply: &got, MaxReply: n + 8})
					if err != nil || !bytes.Equal(got.data, want) {
						t.Fatalf("call %d of another connection: %v, or wrong data", i, err)
					}
					text, more := <-k.panics
					if !more {
						break
					}
					if !strings.Contains(text, "outlived the handler") {
						t.Errorf("use %d: %s", i, text)
					}
				}
			})
		}
	}
}

// With RPCRDMADEBUG=poison, memory lent to a handler is overwritten when its call has ended.
func TestPoison(t *testing.T) {
	if raceEnabled {
		t.Skip("to read what is poisoned is a data race, which the race detector reports")
	}
	if !poison.On {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPoison$", "-test.v")
		cmd.Env = append(os.Environ(), "RPCRDMADEBUG=poison")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestPoison/RDMA/inline")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for name, over := range carriers {
		for kind, n := range map[string]int{"inline": 64, "fetched": 100_000} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				kept, conns := make(chan []byte, 1), make(chan oncrpc.Transport, 1)
				s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
					data, err := c.Args.Bulk(1 << 20).Bytes(ctx)
					kept <- data
					conns <- c.Conn
					return err
				}})
				conn := connect(t, over(t, s))
				client := oncrpc.NewClient(conn, testProgram, testVersion, oncrpc.AuthNone())
				if err := client.Call(t.Context(), 1, &echoBytes{make([]byte, n)}, nil); err != nil {
					t.Fatal(err)
				}
				conn.Close()
				<-(<-conns).Done() // the server's end, which has taken back its memory
				if got := <-kept; !bytes.Equal(got, bytes.Repeat([]byte{poison.Byte}, n)) {
					t.Errorf("kept data begins with %x", got[:8])
				}
			})
		}
	}
}
