package nfs3_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FuzzMessages decodes anything as the arguments and results of each procedure. Whatever decodes
// must encode to bytes that decode to the same.
func FuzzMessages(f *testing.F) {
	for _, c := range captures(f) {
		f.Add(uint32(c.proc), c.reply, c.bytes)
	}
	f.Fuzz(func(t *testing.T, proc uint32, reply bool, in []byte) {
		c := capture{nfs3.Proc(proc % nfs3.Procs), reply, in}
		if kinds[c.proc].args == nil {
			return
		}
		m := c.make()
		if decode(m, in) != nil {
			return
		}
		once := encode(m)
		again := c.make()
		if err := decode(again, once); err != nil {
			t.Fatalf("%v: %v\n%x\n%x", c.proc, err, in, once)
		}
		if twice := encode(again); !bytes.Equal(once, twice) {
			t.Fatalf("%v:\n%x\n%x", c.proc, once, twice)
		}
	})
}

// TestAllocs: the procedures of the fast path do not allocate, in either direction.
func TestAllocs(t *testing.T) {
	var (
		e    xdr.Encoder
		d    xdr.Decoder
		data = make([]byte, 4096)
		into = make([]byte, 4096)
		fh   = nfs3.MakeFH(make([]byte, 32))
	)
	for name, m := range map[string]message{
		"GETATTR args":    &nfs3.GetAttrArgs{File: fh},
		"GETATTR results": &nfs3.GetAttrRes{Attr: nfs3.Fattr{Type: nfs3.TypeReg}},
		"READ args":       &nfs3.ReadArgs{File: fh},
		"READ results":    &nfs3.ReadRes{Count: 4096, Data: [][]byte{data}, Into: into},
		"WRITE args":      &nfs3.WriteArgs{File: fh, Count: 4096, Data: [][]byte{data}},
		"WRITE results":   &nfs3.WriteRes{},
	} {
		wire := make([]byte, 0, 8192)
		allocs := testing.AllocsPerRun(100, func() {
			e.Reset()
			m.MarshalXDR(&e)
			msg := e.Message()
			wire = wire[:0]
			wire = append(wire, msg.Inline...)
			for _, it := range msg.Bulk {
				wire = append(wire, it.Data[0]...)
			}
			d.Reset(wire, nil)
			m.UnmarshalXDR(&d)
			if err := d.Finish(); err != nil {
				t.Fatal(name, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}
