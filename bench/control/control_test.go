package control

import (
	"bytes"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	someInfo  = Info{ChunkedPort: 1, InlinePort: 2, DraftPort: 3, RawPort: 65535, System: "linux", CPUs: 4, Congestion: "reno", Memory: 1 << 32}
	infoBytes = "\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\xff\xff" + "\x00\x00\x00\x05linux\x00\x00\x00" + "\x00\x00\x00\x04" +
		"\x00\x00\x00\x04reno" + "\x00\x00\x00\x01\x00\x00\x00\x00"

	someUsage  = usage{CPU: 1, Allocs: 2, Bytes: 3, GCs: 4, Heap: 5, Stacks: 6, Conns: 7, Busy: 8}
	usageBytes = "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x04" +
		"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x07" +
		"\x00\x00\x00\x00\x00\x00\x00\x08"
)

// codec is implemented by both results.
type codec interface {
	oncrpc.Marshaler
	oncrpc.Unmarshaler
}

func encode(m oncrpc.Marshaler) []byte {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	msg := e.Message()
	return msg.AppendTo(nil)
}

func decode(m oncrpc.Unmarshaler, b []byte) error {
	d := xdr.NewDecoder(b)
	m.UnmarshalXDR(d)
	return d.Finish()
}

// TestCodec: the bytes of each result. No truncation of them decodes.
func TestCodec(t *testing.T) {
	for _, tt := range []struct {
		name       string
		value, got codec
		want       string
	}{{"INFO", &someInfo, new(Info), infoBytes}, {"USAGE", &someUsage, new(usage), usageBytes}} {
		if got := encode(tt.value); string(got) != tt.want {
			t.Errorf("%s: got %x, want %x", tt.name, got, tt.want)
		}
		if err := decode(tt.got, []byte(tt.want)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.value, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		for i := range tt.want {
			if err := decode(tt.got, []byte(tt.want[:i])); err == nil {
				t.Errorf("%s: got no error of the first %d bytes", tt.name, i)
			}
		}
	}
}

// TestInfoLimits: invalid ports, and texts that are too long.
func TestInfoLimits(t *testing.T) {
	port := []byte(infoBytes)
	port[13] = 1
	if err := decode(new(Info), port); err == nil {
		t.Error("port 131071: got no error")
	}
	i := someInfo
	i.System = strings.Repeat("x", maxText+1)
	var e xdr.Encoder
	if i.MarshalXDR(&e); e.Err() == nil {
		t.Error("a text of 257 bytes: got no error")
	}
}

// FuzzInfo: whatever decodes, encodes to the same bytes.
func FuzzInfo(f *testing.F) {
	f.Add([]byte(infoBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		var i Info
		if decode(&i, b) == nil && !bytes.Equal(encode(&i), b) {
			t.Errorf("%x becomes %x", b, encode(&i))
		}
	})
}

// FuzzUsage does the same for Usage.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(usageBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		var u usage
		if decode(&u, b) == nil && !bytes.Equal(encode(&u), b) {
			t.Errorf("%x becomes %x", b, encode(&u))
		}
	})
}

// TestProgram asks a server in this process, over TCP. The usage reported is that of this process.
func TestProgram(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(New(someInfo, srv))
	served := make(chan error)
	go func() { served <- recordmark.Serve(t.Context(), l, srv, recordmark.Config{}) }()
	var conns []*recordmark.Conn
	for range 3 {
		c, err := recordmark.Dial(t.Context(), l.Addr().String(),
			recordmark.Config{EnforceMaxReply: true})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		if err := oncrpc.NewClient(c, Number, Version, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		for _, c := range conns {
			c.Close()
			<-c.Done()
		}
		srv.Close()
		<-served
	}()
	client := NewClient(conns[0])
	info, err := client.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&someInfo, info); diff != "" {
		t.Errorf("INFO (-want +got):\n%s", diff)
	}

	before, err := client.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const objects, size = 1000, 4096
	for range objects {
		kept = make([]byte, size)
	}
	runtime.GC()
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; { // of CPU
	}
	after, err := client.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u := after.Since(before)
	if u.Allocs < objects || u.Bytes < objects*size || u.GCs < 1 || u.Heap < size || u.Stacks == 0 || u.Conns != 2 {
		t.Errorf("got %+v, want %d objects, %d bytes, a collection, 2 other connections", u, objects, objects*size)
	}
	if runtime.GOOS != "windows" && u.CPU <= 0 {
		t.Errorf("got CPU %v, want some", u.CPU)
	}
}

var kept []byte // forces a real allocation
