package xdr_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Each type of a protocol becomes a Go type with two methods. In the XDR language, these are:
//
//	enum color { RED = 0, GREEN = 1 };
//	union paint switch (bool dry) { case TRUE: color seen; case FALSE: hyper wait; };
//	struct picture { string title<64>; paint coat; paint *second; opaque pixels<>; };

type color uint32

const (
	red color = iota
	green
)

// paint is a union: dry selects the field that counts.
type paint struct {
	dry  bool
	seen color
	wait int64
}

func (p *paint) MarshalXDR(e *xdr.Encoder) {
	e.Bool(p.dry)
	if p.dry {
		e.Uint32(uint32(p.seen))
	} else {
		e.Int64(p.wait)
	}
}

func (p *paint) UnmarshalXDR(d *xdr.Decoder) {
	if p.dry = d.Bool(); p.dry {
		p.seen = color(d.Enum(uint32(green)))
	} else {
		p.wait = d.Int64()
	}
}

type picture struct {
	title  string
	coat   paint
	second *paint // optional
	pixels []byte // bulk data: it is not copied into the message
}

func (p *picture) MarshalXDR(e *xdr.Encoder) {
	e.String(p.title, 64)
	p.coat.MarshalXDR(e)
	if e.Optional(p.second != nil) {
		p.second.MarshalXDR(e)
	}
	e.BulkBytes(p.pixels, nil)
}

func (p *picture) UnmarshalXDR(d *xdr.Decoder) {
	p.title = d.String(64)
	p.coat.UnmarshalXDR(d)
	if d.Optional() {
		p.second = new(paint)
		p.second.UnmarshalXDR(d)
	}
	pixels := d.Bulk(1 << 20)
	p.pixels = make([]byte, pixels.Len())
	pixels.CopyTo(p.pixels)
}

// Define types with an optional, a union, a limit on each length, and bulk data.
func Example() {
	sent := picture{
		title: "lawn", coat: paint{dry: true, seen: green}, second: &paint{wait: 60},
		pixels: []byte{1, 2, 3},
	}
	var e xdr.Encoder
	sent.MarshalXDR(&e)
	if err := e.Err(); err != nil {
		log.Fatal(err)
	}
	m := e.Message()
	fmt.Printf("%d bytes, %d of them elsewhere\n", m.Len(), m.Bulk[0].Len)

	stream := bytes.Join(m.AppendPieces(nil, nil), nil) // what RPC over TCP sends
	var d xdr.Decoder
	d.Reset(stream, nil)
	var got picture
	got.UnmarshalXDR(&d)
	fmt.Println(got.title, got.coat.seen == green, got.second.wait, got.pixels, d.Finish())

	d.Reset(stream[:len(stream)-4], nil) // a message that was cut off
	new(picture).UnmarshalXDR(&d)
	fmt.Println(d.Err())
	// Output:
	// 40 bytes, 3 of them elsewhere
	// lawn true 60 [1 2 3] <nil>
	// xdr: at byte 36: stream too short
}
