package rdmap

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	readRequest = ReadRequest{
		SinkSTag: 0x01020304, SinkOffset: 0x1112131415161718, Len: 0x21222324,
		SourceSTag: 0x31323334, SourceOffset: 0x4142434445464748,
	}
	readRequestHex = "01020304" + "1112131415161718" + "21222324" + "31323334" + "4142434445464748"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestReadRequest(t *testing.T) {
	want := unhex(t, readRequestHex)
	if got := readRequest.Append([]byte("prefix")); string(got) != "prefix"+string(want) {
		t.Errorf("Append: got % x, want % x behind the prefix", got, want)
	}
	got, err := ParseReadRequest(append(want, "behind"...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readRequest, got); diff != "" {
		t.Errorf("ParseReadRequest (-want +got):\n%s", diff)
	}
	if len(want) != ReadRequestLen {
		t.Errorf("got %d bytes, want %d", len(want), ReadRequestLen)
	}
	for n := range want {
		if got, err := ParseReadRequest(want[:n]); !errors.Is(err, ErrShort) || got != (ReadRequest{}) {
			t.Errorf("the first %d bytes: got %+v, %v, want ErrShort", n, got, err)
		}
	}
}
