package capture

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	active  = endpoint{[4]byte{192, 0, 2, 1}, 1000}
	passive = endpoint{[4]byte{192, 0, 2, 2}, 20049}
)

// The initial sequence numbers make the streams wrap.
const isn = 0xfffffffe

func data(from endpoint, offset int, payload string) tcpSegment {
	return tcpSegment{from: from, seq: isn + 1 + uint32(offset), ack: true, payload: []byte(payload)}
}

func fin(from endpoint, offset int) tcpSegment {
	s := data(from, offset, "")
	s.fin = true
	return s
}

func opening() []tcpSegment {
	return []tcpSegment{
		{from: active, seq: isn, syn: true},
		{from: passive, seq: isn, syn: true, ack: true},
		data(active, 0, ""),
	}
}

func TestConnection(t *testing.T) {
	for _, tt := range []struct {
		name               string
		in                 []tcpSegment
		initiator, respond string
		chunks             []Chunk
	}{
		{
			name: "in order",
			in: []tcpSegment{
				data(active, 0, "abc"), data(passive, 0, "AB"), data(active, 3, "de"), data(passive, 2, ""),
			},
			initiator: "abcde", respond: "AB",
			chunks: []Chunk{{true, []byte("abc")}, {false, []byte("AB")}, {true, []byte("de")}},
		},
		{
			name:      "retransmission",
			in:        []tcpSegment{data(active, 0, "abc"), data(passive, 0, "A"), data(active, 0, "abc")},
			initiator: "abc", respond: "A",
			chunks: []Chunk{{true, []byte("abc")}, {false, []byte("A")}},
		},
		{
			name:      "overlap",
			in:        []tcpSegment{data(active, 0, "abc"), data(passive, 0, "A"), data(active, 1, "bcde")},
			initiator: "abcde", respond: "A",
			chunks: []Chunk{{true, []byte("abc")}, {false, []byte("A")}, {true, []byte("de")}},
		},
		{
			name:      "keep-alive and repeated SYN",
			in:        []tcpSegment{opening()[1], data(active, 0, "abc"), data(active, -1, ""), data(passive, 0, "A")},
			initiator: "abc", respond: "A",
			chunks: []Chunk{{true, []byte("abc")}, {false, []byte("A")}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := append(opening(), tt.in...)
			in = append(in, fin(active, len(tt.initiator)), fin(passive, len(tt.respond)),
				fin(active, len(tt.initiator)),
				data(active, len(tt.initiator)+1, "")) // an ACK: the FIN counts as one
			var c connection
			for i, s := range in {
				if err := c.add(s); err != nil {
					t.Fatalf("segment %d: %v", i, err)
				}
			}
			got, err := c.session()
			if err != nil {
				t.Fatal(err)
			}
			want := &Session{[]byte(tt.initiator), []byte(tt.respond), tt.chunks}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("session (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConnectionFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []tcpSegment
		want error
	}{
		{"gap", append(opening(), data(active, 0, "abc"), data(active, 4, "e")), errGap},
		{"gap before FIN", append(opening(), data(active, 0, "abc"), fin(active, 4)), errGap},
		{"retransmission differs", append(opening(), data(active, 0, "abc"), data(active, 1, "xc")), errConflict},
		{"data before the stream", append(opening(), data(active, -1, "abc")), errConflict},
		{"data behind FIN", append(opening(), fin(active, 0), data(active, 0, "a")), errBehindFIN},
		{"no SYN", []tcpSegment{data(endpoint{}, 0, "a")}, errNoSYN},
		{"third party", append(opening(), data(endpoint{port: 1}, 0, "a")), errSecondConnection},
		{"second SYN", append(opening(), tcpSegment{from: active, seq: 7, syn: true}), errSecondConnection},
		{"never closed", append(opening(), data(active, 0, "abc")), errIncomplete},
		{"closed by one side", append(opening(), fin(active, 0)), errIncomplete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var (
				c   connection
				err error
			)
			for _, s := range tt.in {
				if err = c.add(s); err != nil {
					break
				}
			}
			if err == nil {
				_, err = c.session()
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
