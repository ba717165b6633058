package mount3_test

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"

	oracle "github.com/buildbarn/go-xdr/pkg/protocols/mount"
	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func encode(m interface{ MarshalXDR(*xdr.Encoder) }) ([]byte, error) {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	msg := e.Message()
	return msg.AppendTo(nil), e.Err()
}

func decode(m interface{ UnmarshalXDR(*xdr.Decoder) }, b []byte) error {
	d := xdr.NewDecoder(b)
	m.UnmarshalXDR(d)
	return d.Finish()
}

func TestMntArgs(t *testing.T) {
	b, err := encode(&mount3.MntArgs{Path: "/srv"})
	if err != nil || !bytes.Equal(b, []byte("\x00\x00\x00\x04/srv")) {
		t.Fatalf("%v: %x", err, b)
	}
	var got mount3.MntArgs
	if err := decode(&got, b); err != nil || got.Path != "/srv" {
		t.Fatal(err, got)
	}
	for i := range b {
		if decode(&got, b[:i]) == nil {
			t.Errorf("%d bytes decode", i)
		}
	}
	if _, err := encode(&mount3.MntArgs{Path: string(make([]byte, mount3.MaxPath+1))}); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("path too long: %v", err)
	}
}

func TestMntRes(t *testing.T) {
	fh := nfs3.MakeFH([]byte("a handle of 21 bytes."))
	for _, want := range []mount3.MntRes{
		{Status: mount3.ErrAcces},
		{Root: fh},
		{Root: fh, Flavors: []mount3.Flavor{1, 390003}},
		{Root: nfs3.MakeFH(make([]byte, mount3.FHSize)), Flavors: make([]mount3.Flavor, 64)},
	} {
		b, err := encode(&want)
		if err != nil || len(b) > mount3.MntResMax {
			t.Fatalf("%v: %d bytes", err, len(b))
		}
		var got mount3.MntRes
		if err := decode(&got, b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b nfs3.FH) bool { return a == b })); diff != "" {
			t.Error(diff)
		}
		for i := range b {
			if decode(&got, b[:i]) == nil {
				t.Errorf("%d bytes of %d decode", i, len(b))
			}
		}
		o, _, err := oracle.ReadMountres3(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("oracle: %v", err)
		}
		var again bytes.Buffer
		if _, err := o.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Errorf("oracle: %v\n%x\n%x", err, b, again.Bytes())
		}
	}
	if _, err := encode(&mount3.MntRes{Flavors: make([]mount3.Flavor, 65)}); err == nil {
		t.Error("65 flavours encode")
	}
}

func TestStatus(t *testing.T) {
	if !errors.Is(mount3.ErrNoEnt, fs.ErrNotExist) || !errors.Is(mount3.ErrAcces, fs.ErrPermission) || errors.Is(mount3.ErrIO, fs.ErrNotExist) {
		t.Error("the sentinels of io/fs")
	}
	if mount3.ErrNotDir.Error() != "MNT3ERR_NOTDIR" || mount3.Status(99).String() != "mountstat3 99" || mount3.ProcExport.String() != "EXPORT" {
		t.Error("names")
	}
}

func FuzzMnt(f *testing.F) {
	b, _ := encode(&mount3.MntRes{Root: nfs3.MakeFH([]byte("handle")), Flavors: []mount3.Flavor{1}})
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		var a mount3.MntArgs
		if decode(&a, in) == nil {
			if out, err := encode(&a); err != nil || !bytes.Equal(in, out) {
				t.Errorf("%v\n%x\n%x", err, in, out)
			}
		}
		var r mount3.MntRes
		if decode(&r, in) == nil {
			if out, err := encode(&r); err != nil || !bytes.Equal(in, out) {
				t.Errorf("%v\n%x\n%x", err, in, out)
			}
		}
	})
}
