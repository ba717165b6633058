package nfs3_test

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const benchData = 1 << 16 // bytes that READ and WRITE carry

// benchMessages are the arguments and results of the most frequent procedures.
func benchMessages() []struct {
	name  string
	m     message
	moved int // bytes of data that decoding copies
} {
	var (
		file = nfs3.MakeFH(make([]byte, 28))
		attr = nfs3.Fattr{Type: nfs3.TypeReg, Mode: 0o644, Size: benchData}
		data = [][]byte{make([]byte, benchData)}
		wcc  = nfs3.WccData{Before: attr.Pre(), After: nfs3.PostOpAttrOf(attr)}
		dir  = &nfs3.ReadDirPlusRes{Dir: nfs3.PostOpAttrOf(attr), EOF: true}
	)
	for i := range 100 {
		dir.Entries = append(dir.Entries, nfs3.Entry{
			FileID: uint64(i), Name: fmt.Sprintf("entry-%04d", i), Cookie: uint64(i),
			Attr: nfs3.PostOpAttrOf(attr), File: nfs3.PostOpFH{Present: true, FH: file},
		})
	}
	return []struct {
		name  string
		m     message
		moved int
	}{
		{"GETATTR/args", &nfs3.GetAttrArgs{File: file}, 0},
		{"GETATTR/results", &nfs3.GetAttrRes{Attr: attr}, 0},
		{"READ/args", &nfs3.ReadArgs{File: file, Count: benchData}, 0},
		{"READ/results", &nfs3.ReadRes{Attr: nfs3.PostOpAttrOf(attr), Count: benchData, Data: data, Into: make([]byte, benchData)}, benchData},
		{"WRITE/args", &nfs3.WriteArgs{File: file, Count: benchData, Data: data}, 0},
		{"WRITE/results", &nfs3.WriteRes{Wcc: wcc, Count: benchData}, 0},
		{"READDIRPLUS/args", &nfs3.ReadDirPlusArgs{Dir: file, DirCount: 1 << 12, MaxCount: 1 << 15}, 0},
		{"READDIRPLUS/results", dir, 0},
	}
}

// BenchmarkEncode: data is encoded by reference.
func BenchmarkEncode(b *testing.B) {
	for _, bb := range benchMessages() {
		b.Run(bb.name, func(b *testing.B) {
			var e xdr.Encoder
			b.ReportAllocs()
			for b.Loop() {
				e.Reset()
				bb.m.MarshalXDR(&e)
			}
		})
	}
}

// BenchmarkDecode decodes messages. The data of READ is copied to its destination.
func BenchmarkDecode(b *testing.B) {
	for _, bb := range benchMessages() {
		b.Run(bb.name, func(b *testing.B) {
			p := encode(bb.m)
			var d xdr.Decoder
			b.SetBytes(int64(bb.moved))
			b.ReportAllocs()
			for b.Loop() {
				d.Reset(p, nil)
				if bb.m.UnmarshalXDR(&d); d.Finish() != nil {
					b.Fatal(d.Err())
				}
			}
		})
	}
}
