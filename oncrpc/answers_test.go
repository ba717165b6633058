package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// answering is a program whose procedures all end in different ways.
var answering = []struct {
	name   string
	handle oncrpc.Handler
	reply  string // from accept_stat or reject_stat on
	log    string
}{
	{"results", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(c.Args.Uint32() + 1)
		return nil
	}, accepted + "00000000 00000008", ""},
	{"no results", func(context.Context, *oncrpc.Call) error { return nil }, accepted + "00000000", ""},
	{"arguments left over", func(_ context.Context, c *oncrpc.Call) error { return nil }, accepted + "00000000", ""},
	{"arguments left over, strictly", func(_ context.Context, c *oncrpc.Call) error {
		return c.Args.Finish()
	}, accepted + "00000004", ""},
	{"garbage", func(context.Context, *oncrpc.Call) error { return oncrpc.ErrGarbageArgs }, accepted + "00000004", ""},
	{"garbage, wrapped", func(context.Context, *oncrpc.Call) error {
		return fmt.Errorf("file handle: %w", oncrpc.ErrGarbageArgs)
	}, accepted + "00000004", ""},
	{"garbage, not noticed by the handler", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint64(c.Args.Uint64())
		return nil
	}, accepted + "00000004", ""},
	{"garbage, bulk", func(_ context.Context, c *oncrpc.Call) error {
		c.Args.Bulk(6)
		return c.Args.Err()
	}, accepted + "00000004", ""},
	{"procedure unavailable", func(context.Context, *oncrpc.Call) error { return oncrpc.ErrProcUnavail }, accepted + "00000003", ""},
	{"accept error", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.AcceptError{Stat: oncrpc.ProgMismatch, Low: 5, High: 7}
	}, accepted + "00000002 00000005 00000007", ""},
	{"system error", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.AcceptError{Stat: oncrpc.SystemErr}
	}, accepted + "00000005", ""},
	{"other error", func(context.Context, *oncrpc.Call) error { return errors.New("disk on fire") }, accepted + "00000005", "disk on fire"},
	{"context", func(context.Context, *oncrpc.Call) error { return context.Canceled }, accepted + "00000005", "context canceled"},
	{"version error", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.VersionError{Low: 2, High: 3}
	}, denied + "00000000 00000002 00000003", ""},
	{"auth error, wrapped", func(context.Context, *oncrpc.Call) error {
		return fmt.Errorf("uid 7: %w", &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak})
	}, denied + "00000001 00000005", ""},
	// An error that claims success must not be sent as such.
	{"success as an error", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.AcceptError{Stat: oncrpc.Success}
	}, accepted + "00000005", "SUCCESS"},
	{"unknown accept_stat", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.AcceptError{Stat: 6}
	}, accepted + "00000005", "accept_stat 6"},
	{"AUTH_OK as an error", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.AuthError{}
	}, accepted + "00000005", "AUTH_OK"},
	// Another server's answer is not the answer to this call.
	{"error of a call", func(context.Context, *oncrpc.Call) error {
		return fmt.Errorf("backend: %w", &oncrpc.CallError{Err: &oncrpc.AcceptError{Stat: oncrpc.ProcUnavail}})
	}, accepted + "00000005", "backend"},
	{"malformed reply to a call", func(context.Context, *oncrpc.Call) error {
		return &oncrpc.CallError{Err: &xdr.DecodeError{Err: xdr.ErrShort}}
	}, accepted + "00000005", "stream too short"},
	{"results that cannot be encoded", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(1)
		c.Results.String("too long", 3)
		return nil
	}, accepted + "00000005", "results cannot be encoded"},
	{"results of another stream that cannot be decoded", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Fail(&xdr.DecodeError{Err: xdr.ErrShort})
		return nil
	}, accepted + "00000005", "stream too short"},
	{"error after results", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(1)
		return errors.New("half way")
	}, accepted + "00000005", "half way"},
	{"panic", func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(1)
		panic("out of cheese")
	}, accepted + "00000005", "out of cheese"},
	{"panic of the runtime", func(_ context.Context, c *oncrpc.Call) error {
		var p []byte
		p[c.Args.Uint32()] = 1
		return nil
	}, accepted + "00000005", "index out of range"},
}

// Every way in which a handler can end, on a worker and on the dispatching goroutine.
func TestHandlerAnswers(t *testing.T) {
	for _, nonBlocking := range []bool{false, true} {
		var log bytes.Buffer
		var procs []oncrpc.Procedure
		for _, a := range answering {
			procs = append(procs, oncrpc.Procedure{Name: "P", Handler: a.handle, NonBlocking: nonBlocking})
		}
		s := newServer(t, oncrpc.ServerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}, procs...)
		for range 2 { // the second time with used memory
			for i, a := range answering {
				log.Reset()
				before := s.Stats()
				got := dispatch(t, s, callBytes(0x01020304, uint32(i+1), 7))
				want := unhex(t, a.reply)
				if !bytes.Equal(got, want) {
					t.Errorf("%s:\n got %x\nwant %x", a.name, got, want)
				}
				switch {
				case a.log == "" && log.Len() > 0:
					t.Errorf("%s: log %q, want none", a.name, &log)
				case !strings.Contains(log.String(), a.log) || strings.Count(log.String(), "\n") > 1:
					t.Errorf("%s: log %q, want one line with %q", a.name, &log, a.log)
				case a.log != "" && !strings.Contains(log.String(), "program=test procedure=P peer=server"):
					t.Errorf("%s: log %q does not say which call", a.name, &log)
				}
				after := s.Stats()
				failed := !strings.HasPrefix(hex.EncodeToString(want[8:]), strings.Repeat("0", 32))
				if after.Calls != before.Calls+1 || (after.Errors != before.Errors+1) == failed || after.InFlight != 0 {
					t.Errorf("%s: stats %+v after %+v", a.name, after, before)
				}
				if panicked := strings.HasPrefix(a.name, "panic"); (after.Panics == before.Panics+1) != panicked {
					t.Errorf("%s: %d panics after %d", a.name, after.Panics, before.Panics)
				}
			}
		}
	}
}

// The server's answers to calls that reach no handler.
func TestHeaderAnswers(t *testing.T) {
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{}, // 1 is a gap
		oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			cred, ok := c.Sys()
			if !ok {
				return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			c.Results.Uint32(cred.UID)
			c.Results.Uint32(cred.GID)
			c.Results.Uint32(uint32(len(cred.GIDs)))
			return nil
		}})
	s.Handle(
		oncrpc.Program{Number: testProgram, Version: 7},
		oncrpc.Program{Number: testProgram, Version: 5},
		oncrpc.Program{Number: 99, Version: 1, Authorize: func(_ context.Context, c *oncrpc.Call) (context.Context, error) {
			if c.Procedure == 2 {
				panic("nobody may know")
			}
			return nil, &oncrpc.AuthError{Stat: oncrpc.AuthRejectedCred}
		}, Procedures: []oncrpc.Procedure{{}, {Handler: nil}, {Handler: func(context.Context, *oncrpc.Call) error { return nil }},
			{Handler: func(context.Context, *oncrpc.Call) error { return nil }}}},
	)
	const (
		call = "01020304 00000000 00000002 20000003 00000003 "
		none = "00000000 00000000 "
		sys  = "00000001 0000001c 00000000 00000000 00000007 00000008 00000002 00000009 0000000a "
	)
	for _, tt := range []struct{ name, call, reply string }{
		{"NULL", call + "00000000" + none + none, accepted + "00000000"},
		{"NULL of a program without procedures", "01020304 00000000 00000002 20000003 00000005 00000000" + none + none, accepted + "00000000"},
		{"NULL that nobody is authorized for", "01020304 00000000 00000002 00000063 00000001 00000000" + none + none, accepted + "00000000"},
		{"AUTH_SYS", call + "00000002" + sys + none, accepted + "00000000 00000007 00000008 00000002"},
		{"AUTH_NONE where AUTH_SYS is wanted", call + "00000002" + none + none, denied + "00000001 00000005"},
		{"AUTH_NONE with a body", call + "00000000 00000000 00000004 00000000" + none, accepted + "00000000"},
		{"verifier", call + "00000000" + none + "00000009 00000003 010203 00", accepted + "00000000"},
		{"not authorized", "01020304 00000000 00000002 00000063 00000001 00000003" + none + none, denied + "00000001 00000002"},
		{"panic in Authorize", "01020304 00000000 00000002 00000063 00000001 00000002" + none + none, accepted + "00000005"},

		{"RPC version 1", "01020304 00000000 00000001", denied + "00000000 00000002 00000002"},
		{"RPC version 3", "01020304 00000000 00000003 00000000", denied + "00000000 00000002 00000002"},
		{"PROG_UNAVAIL", "01020304 00000000 00000002 00000001 00000003 00000000" + none + none, accepted + "00000001"},
		{"PROG_MISMATCH", "01020304 00000000 00000002 20000003 00000004 00000000" + none + none, accepted + "00000002 00000003 00000007"},
		{"PROG_MISMATCH, above", "01020304 00000000 00000002 20000003 ffffffff 00000000" + none + none, accepted + "00000002 00000003 00000007"},
		{"PROG_MISMATCH, one version", "01020304 00000000 00000002 00000063 00000000 00000000" + none + none, accepted + "00000002 00000001 00000001"},
		{"PROC_UNAVAIL", call + "00000003" + none + none, accepted + "00000003"},
		{"PROC_UNAVAIL, far", call + "ffffffff" + none + none, accepted + "00000003"},
		{"PROC_UNAVAIL, gap", call + "00000001" + none + none, accepted + "00000003"},
		{"truncated", "01020304 00000000 00000002 20000003 00000003", accepted + "00000004"},
		{"no call", "01020304 00000001 00000000", accepted + "00000004"},

		{"AUTH_SHORT", call + "00000002 00000002 00000004 00000000" + none, denied + "00000001 00000001"},
		{"AUTH_DH", call + "00000002 00000003 00000000" + none, denied + "00000001 00000001"},
		{"RPCSEC_GSS", call + "00000002 00000006 00000000" + none, denied + "00000001 00000001"},
		{"AUTH_SYS without a body", call + "00000002 00000001 00000000" + none, denied + "00000001 00000001"},
		{"AUTH_SYS with too short a body", call + "00000002 00000001 00000010 00000000 00000000 00000007 00000008" + none, denied + "00000001 00000001"},
		{"credential cut off", call + "00000002 00000001 0000001c 00000000", denied + "00000001 00000001"},
		{"credential of 401 bytes", call + "00000002 00000000 00000191" + strings.Repeat("00", 404) + none, denied + "00000001 00000001"},
		{"verifier cut off", call + "00000002" + sys + "00000000", denied + "00000001 00000003"},
		{"verifier of 401 bytes", call + "00000002" + sys + "00000000 00000191" + strings.Repeat("00", 404), denied + "00000001 00000003"},
	} {
		if got, want := dispatch(t, s, unhex(t, tt.call)), unhex(t, tt.reply); !bytes.Equal(got, want) {
			t.Errorf("%s\n got %x\nwant %x", tt.name, got, want)
		}
	}
}

// Every answer of a server becomes a typed error at the client.
func TestAnswersReachTheCaller(t *testing.T) {
	var err error
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{NonBlocking: true,
		Handler: func(context.Context, *oncrpc.Call) error { return err }})
	near, far := connection(t)
	far.Serve(s)
	c := oncrpc.NewClient(near, testProgram, testVersion, oncrpc.AuthNone())
	for stat := oncrpc.AuthBadCred; stat <= oncrpc.GSSCtxProblem+1; stat++ {
		err = &oncrpc.AuthError{Stat: stat}
		var got *oncrpc.AuthError
		if err := c.Call(t.Context(), 1, nil, nil); !errors.As(err, &got) || got.Stat != stat {
			t.Errorf("got %v, want %v", err, stat)
		}
	}
	for stat := oncrpc.ProgUnavail; stat <= oncrpc.SystemErr; stat++ {
		want := oncrpc.AcceptError{Stat: stat}
		if stat == oncrpc.ProgMismatch {
			want.Low, want.High = 3, 4
		}
		err = &want
		var got *oncrpc.AcceptError
		if err := c.Call(t.Context(), 1, nil, nil); !errors.As(err, &got) || *got != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	err = &oncrpc.VersionError{Low: 2, High: 5}
	var got *oncrpc.VersionError
	if err := c.Call(t.Context(), 1, nil, nil); !errors.As(err, &got) || *got != (oncrpc.VersionError{Low: 2, High: 5}) {
		t.Errorf("got %v, want RPC_MISMATCH", err)
	}
}

// Bulk results are released once, whether they are sent or replaced by an error.
func TestResultsReleased(t *testing.T) {
	for name, end := range map[string]func(c *oncrpc.Call) error{
		"sent":           func(*oncrpc.Call) error { return nil },
		"error":          func(*oncrpc.Call) error { return errors.New("half way") },
		"panic":          func(*oncrpc.Call) error { panic("half way") },
		"not encodable":  func(c *oncrpc.Call) error { c.Results.Opaque([]byte{1}, 0); return nil },
		"bad arguments":  func(c *oncrpc.Call) error { c.Args.Uint64(); return nil },
		"taken back":     func(c *oncrpc.Call) error { c.Results.Rewind(xdr.Mark{}); return errors.New("once is enough") },
		"accept error":   func(*oncrpc.Call) error { return oncrpc.ErrProcUnavail },
		"nothing behind": func(c *oncrpc.Call) error { c.Results.BulkBytes(nil, nil); return nil },
	} {
		var rel releases
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.BulkBytes([]byte("data"), &rel)
			c.Results.BulkBytes([]byte("more"), &rel)
			return end(c)
		}})
		dispatch(t, s, callBytes(1, 1))
		if n := rel.Load(); n != 2 {
			t.Errorf("%s: %d releases, want 2", name, n)
		}
	}
}
