package goxdr_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// raw is encoded arguments or results.
type raw []byte

func (p raw) MarshalXDR(e *xdr.Encoder)    { e.Raw(p) }
func (p *raw) UnmarshalXDR(d *xdr.Decoder) { *p = bytes.Clone(d.Raw(d.Remaining())) }

// unhex decodes hexadecimal digits with blanks between them.
func unhex(t *testing.T, s string) raw {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The arguments of PUT and of GET.
const (
	putABC = "00000003 61626300" + "00000005 68656c6c6f000000" // the note "abc", which says hello
	getABC = "00000003 61626300"
)

// Messages are encoded as notes.x says.
func TestWire(t *testing.T) {
	book := newNotebook()
	i := &impl{
		put: book.NotesV1Put,
		get: book.NotesV1Get,
		list: func(context.Context) (*notes.Entry, error) {
			return &notes.Entry{Name: "abc", Next: &notes.Entry{Name: "d"}}, nil
		},
	}
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		c := newClient(conn, 1)
		for _, tt := range []struct {
			name       string
			procedure  uint32
			args, want string
		}{
			{"PUT", procPut, putABC, ""},
			{"PUT, arguments of a later revision", procPut, putABC + "00000001", ""},
			{"GET", procGet, getABC, "00000000" + putABC},
			{"GET of what is not there", procGet, "00000000", "00000002"},
			{"LIST", procList, "", "00000001 00000003 61626300 00000001 00000001 64000000 00000000"},
		} {
			var reply raw
			if err := c.Call(t.Context(), tt.procedure, unhex(t, tt.args), &reply); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			if want := unhex(t, tt.want); !bytes.Equal(reply, want) {
				t.Errorf("%s: got %x, want %x", tt.name, reply, want)
			}
		}
		if got := book.text(t, "abc"); string(got) != "hello" {
			t.Errorf("PUT of %q", got)
		}
	}, program(i))
}

// How failing calls end, and whether they were executed.
func TestErrors(t *testing.T) {
	var executed atomic.Bool
	var failure atomic.Value // of a struct{ error }
	answer := func() error {
		executed.Store(true)
		return failure.Load().(struct{ error }).error
	}
	long := strings.Repeat("x", notes.MAX_TITLE+1)
	i := &impl{
		null: func(context.Context) error { return answer() },
		put:  func(context.Context, *notes.Note) error { return answer() },
		get: func(context.Context, string) (notes.GetResult, error) {
			return &notes.GetResult_OK{Found: notes.Note{Name: long}}, answer()
		},
		list: func(context.Context) (*notes.Entry, error) { panic("a fault") },
	}
	wrongVersion := program(i)
	wrongVersion.Version = 7
	var (
		unavailable = &oncrpc.AcceptError{Stat: oncrpc.ProcUnavail}
		mismatch    = &oncrpc.AcceptError{Stat: oncrpc.ProgMismatch, Low: 1, High: 1}
		garbage     = &oncrpc.AcceptError{Stat: oncrpc.GarbageArgs}
		system      = &oncrpc.AcceptError{Stat: oncrpc.SystemErr}
		noProgram   = &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}
		tooWeak     = &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		elsewhere   = &oncrpc.CallError{Err: garbage}
		noTitle     = fmt.Errorf("%w: no title", oncrpc.ErrGarbageArgs)
		own         = errors.New("disk on fire")
		tooLong     = "00000100" + strings.Repeat("61", notes.MAX_TITLE+1) + "00000000"
		beyond      = strings.Repeat("00000000", maxArgs/4)
	)
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		for _, tt := range []struct {
			name      string
			version   uint32
			procedure uint32
			args      string
			answer    error // of the implementation
			want      error
			executed  bool
		}{
			{"no name", 1, 5, "", nil, unavailable, false},
			{"not in the .x file", 1, 4, "", nil, unavailable, false},
			{"a version that is not in the .x file", 7, 0, "", nil, mismatch, false},
			{"too long a title", 1, procPut, tooLong, nil, garbage, false},
			{"a title without end", 1, procPut, "ffffffff 61626300 00000000", nil, garbage, false},
			{"a title of non-ASCII", 1, procPut, "00000002 c3a40000 00000000", nil, garbage, false},
			{"more than maxArgs", 1, procPut, putABC + beyond, nil, garbage, false},
			// See the package documentation on last arguments.
			{"a last round-up that is not zero", 1, procGet, "00000003 61626301", nil, system, false},
			{"an error", 1, procPut, putABC, own, system, true},
			{"an error without arguments", 1, procNull, "", own, system, true},
			{"an error with arguments left", 1, procPut, putABC + "00000001", own, garbage, true},
			{"GARBAGE_ARGS", 1, procPut, putABC, noTitle, garbage, true},
			{"PROC_UNAVAIL", 1, procPut, putABC, oncrpc.ErrProcUnavail, unavailable, true},
			{"an AcceptError", 1, procPut, putABC, noProgram, noProgram, true},
			{"AUTH_TOOWEAK", 1, procPut, putABC, tooWeak, tooWeak, true},
			{"AUTH_TOOWEAK, arguments left", 1, procPut, putABC + "00000001", tooWeak, tooWeak, true},
			{"what another server said", 1, procPut, putABC, elsewhere, system, true},
			{"results that cannot be encoded", 1, procGet, getABC, nil, system, true},
			{"a panic", 1, procList, "", nil, system, false},
		} {
			executed.Store(false)
			failure.Store(struct{ error }{tt.answer})
			err := newClient(conn, tt.version).Call(t.Context(), tt.procedure, unhex(t, tt.args), nil)
			var call *oncrpc.CallError
			if !errors.As(err, &call) || call.Err.Error() != tt.want.Error() {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
			}
			if got := executed.Load(); got != tt.executed {
				t.Errorf("%s: executed %v, want %v", tt.name, got, tt.executed)
			}
		}

		// Every truncation of arguments.
		whole := unhex(t, putABC)
		executed.Store(false)
		for n := 0; n < len(whole); n += 4 {
			err := newClient(conn, 1).Call(t.Context(), procPut, whole[:n], nil)
			var accept *oncrpc.AcceptError
			if !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs || executed.Load() {
				t.Errorf("%d of %d bytes: got %v, executed %v", n, len(whole), err, executed.Load())
			}
		}
	}, program(i), wrongVersion)
}

// Procedures without a name are unavailable, but procedure 0 exists.
func TestProceduresWithoutName(t *testing.T) {
	i := &impl{list: func(context.Context) (*notes.Entry, error) { return nil, nil }}
	prog := program(i)
	prog.Procedures = goxdr.Procedures(notes.NewNotesService(i), maxArgs, "", "", "", "LIST")
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		c := newClient(conn, 1)
		if err := c.Call(t.Context(), procNull, nil, nil); err != nil {
			t.Error(err)
		}
		var accept *oncrpc.AcceptError
		err := c.Call(t.Context(), procPut, unhex(t, putABC), nil)
		if !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
			t.Errorf("PUT: got %v, want PROC_UNAVAIL", err)
		}
		list := &notes.Entry{}
		err = c.Call(t.Context(), procList, nil, goxdr.ReplyFunc(notes.ReadListing, &list))
		if err != nil || list != nil {
			t.Errorf("LIST: %v, %v", list, err)
		}
	}, prog)
}

// The implementation sees the caller.
func TestCallFromContext(t *testing.T) {
	if c, ok := goxdr.CallFromContext(t.Context()); ok || c != nil {
		t.Errorf("outside of a call: %v, %v", c, ok)
	}
	sys := oncrpc.SysCred{Machine: "host", UID: 1000, GID: 100, GIDs: []uint32{100, 7}}
	cred, err := oncrpc.AuthSys(sys)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, rpcrdma.Config{}, func(t *testing.T, conn oncrpc.Transport) {
		c := oncrpc.NewClient(conn, notes.NOTES_PROGRAM_NUMBER, 1, cred)
		if err := c.Call(t.Context(), procNull, nil, nil); err != nil {
			t.Error(err)
		}
	}, program(&impl{null: func(ctx context.Context) error {
		c, ok := goxdr.CallFromContext(ctx)
		if !ok || c.Program != notes.NOTES_PROGRAM_NUMBER || c.Procedure != procNull || c.Conn == nil {
			return fmt.Errorf("call %v, %v", c, ok)
		}
		if s, ok := c.Sys(); !ok || s.UID != 1000 || s.GID != 100 {
			return fmt.Errorf("credential %v, %v", s, ok)
		}
		return nil
	}}))
}
