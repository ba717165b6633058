package mount3_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// list is a pointer to results that are a linked list.
type list[R any] interface {
	*R
	MarshalXDR(e *xdr.Encoder)
	UnmarshalXDR(d *xdr.Decoder)
}

// checkList encodes results, which give wire if that is known, and decodes them over other results.
// Truncated results must not decode.
func checkList[R any, P list[R]](t *testing.T, res, others R, wire string) []byte {
	t.Helper()
	b, err := encode(P(&res))
	if err != nil {
		t.Fatal(err)
	}
	if wire != "" && string(b) != wire {
		t.Errorf("got %x, want %x", b, wire)
	}
	got := others
	if err := decode(P(&got), b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res, got); diff != "" {
		t.Errorf("decoded (-want +got)\n%s", diff)
	}
	for i := range b {
		if decode(P(&got), b[:i]) == nil {
			t.Errorf("%d bytes of %d decode", i, len(b))
		}
	}
	return b
}

// checkOracle compares the value that an independent codec decoded with want, and its encoding with
// b.
func checkOracle[T any](t *testing.T, want, seen []T, write func(io.Writer) (int64, error), b []byte) {
	t.Helper()
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("oracle (-want +got)\n%s", diff)
	}
	var again bytes.Buffer
	if _, err := write(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
		t.Errorf("oracle: %v\n got %x\nwant %x", err, again.Bytes(), b)
	}
}

// checkLimit checks that results with something too long in them are refused in both directions.
// wire encodes them without limits.
func checkLimit[R any, P list[R]](t *testing.T, name string, res R, wire func(e *xdr.Encoder)) {
	t.Helper()
	if _, err := encode(P(&res)); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("%s: encode: got %v, want %v", name, err, xdr.ErrLimit)
	}
	var e xdr.Encoder
	wire(&e)
	if err := decode(P(new(R)), e.Message().Inline); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("%s: decode: got %v, want %v", name, err, xdr.ErrLimit)
	}
}

// fuzzList decodes anything. Whatever decodes must encode to the same bytes.
func fuzzList[R any, P list[R]](f *testing.F, seeds []R) {
	for _, res := range seeds {
		b, err := encode(P(&res))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var r R
		if decode(P(&r), in) == nil {
			if out, err := encode(P(&r)); err != nil || !bytes.Equal(in, out) {
				t.Errorf("%v\n got %x\nwant %x", err, out, in)
			}
		}
	})
}
