package goxdr_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/goxdr/internal/notes"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestArgs(t *testing.T) {
	var e xdr.Encoder
	goxdr.Args(&notes.Note{Name: "abc", Text: []byte("hello")}).MarshalXDR(&e)
	goxdr.ArgsFunc(notes.WriteTitle, "abc").MarshalXDR(&e)
	got, want := e.Message().Inline, unhex(t, putABC+getABC)
	if !bytes.Equal(got, want) || e.Err() != nil {
		t.Errorf("got %x, %v, want %x", got, e.Err(), want)
	}
	// An invalid value is not sent.
	e.Reset()
	goxdr.Args(&notes.Note{Name: strings.Repeat("x", notes.MAX_TITLE+1)}).MarshalXDR(&e)
	if e.Err() == nil {
		t.Error("a title that is too long is encoded")
	}
}

func TestReply(t *testing.T) {
	wire := unhex(t, putABC)
	var n notes.Note
	d := xdr.NewDecoder(wire)
	goxdr.Reply(&n).UnmarshalXDR(d)
	if d.Finish() != nil || n.Name != "abc" || string(n.Text) != "hello" {
		t.Errorf("got %q, %q, %v", n.Name, n.Text, d.Finish())
	}
	for i := range wire {
		d := xdr.NewDecoder(wire[:i])
		if goxdr.Reply(&n).UnmarshalXDR(d); !errors.Is(d.Err(), xdr.ErrShort) {
			t.Errorf("%d of %d bytes: got %v, want ErrShort", i, len(wire), d.Err())
		}
	}
	d = xdr.NewDecoder(append(bytes.Clone(wire), 0, 0, 0, 0))
	if goxdr.Reply(&n).UnmarshalXDR(d); !errors.Is(d.Err(), xdr.ErrTrailing) {
		t.Errorf("with bytes left over: got %v, want ErrTrailing", d.Err())
	}
	d = xdr.NewDecoder(unhex(t, "00000003 61626301 00000000"))
	if goxdr.Reply(&n).UnmarshalXDR(d); d.Err() == nil || errors.Is(d.Err(), xdr.ErrShort) {
		t.Errorf("a round-up that is not zero: got %v", d.Err())
	}
	// An earlier error stays.
	d = xdr.NewDecoder(wire)
	d.Fail(xdr.ErrValue)
	if goxdr.Reply(&n).UnmarshalXDR(d); !errors.Is(d.Err(), xdr.ErrValue) {
		t.Errorf("got %v, want ErrValue", d.Err())
	}
}

func TestReplyFunc(t *testing.T) {
	var res notes.GetResult
	d := xdr.NewDecoder(unhex(t, "00000000"+putABC))
	goxdr.ReplyFunc(notes.ReadGetResult, &res).UnmarshalXDR(d)
	ok, _ := res.(*notes.GetResult_OK)
	if d.Finish() != nil || ok == nil || string(ok.Found.Text) != "hello" {
		t.Errorf("got %v, %v", res, d.Finish())
	}
	d = xdr.NewDecoder(unhex(t, "000000"))
	goxdr.ReplyFunc(notes.ReadGetResult, &res).UnmarshalXDR(d)
	if !errors.Is(d.Err(), xdr.ErrShort) || res.GetStat() != notes.OK {
		t.Errorf("got %v, %v, want ErrShort and the result left alone", res, d.Err())
	}
}
