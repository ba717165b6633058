package nfs3_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	oracle "github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// oracles decode a message with an independent codec and encode it again.
var oracles = map[nfs3.Proc]struct {
	args, results func(io.Reader) (io.WriterTo, error)
}{
	nfs3.ProcGetAttr:     {args[oracle.Getattr3args], results(oracle.ReadGetattr3res)},
	nfs3.ProcSetAttr:     {args[oracle.Setattr3args], results(oracle.ReadSetattr3res)},
	nfs3.ProcLookup:      {args[oracle.Lookup3args], results(oracle.ReadLookup3res)},
	nfs3.ProcAccess:      {args[oracle.Access3args], results(oracle.ReadAccess3res)},
	nfs3.ProcRead:        {args[oracle.Read3args], results(oracle.ReadRead3res)},
	nfs3.ProcWrite:       {args[oracle.Write3args], results(oracle.ReadWrite3res)},
	nfs3.ProcCreate:      {args[oracle.Create3args], results(oracle.ReadCreate3res)},
	nfs3.ProcMkdir:       {args[oracle.Mkdir3args], results(oracle.ReadMkdir3res)},
	nfs3.ProcReadLink:    {args[oracle.Readlink3args], results(oracle.ReadReadlink3res)},
	nfs3.ProcSymlink:     {args[oracle.Symlink3args], results(oracle.ReadSymlink3res)},
	nfs3.ProcMknod:       {args[oracle.Mknod3args], results(oracle.ReadMknod3res)},
	nfs3.ProcRemove:      {args[oracle.Remove3args], results(oracle.ReadRemove3res)},
	nfs3.ProcRmdir:       {args[oracle.Rmdir3args], results(oracle.ReadRmdir3res)},
	nfs3.ProcRename:      {args[oracle.Rename3args], results(oracle.ReadRename3res)},
	nfs3.ProcLink:        {args[oracle.Link3args], results(oracle.ReadLink3res)},
	nfs3.ProcReadDir:     {args[oracle.Readdir3args], results(oracle.ReadReaddir3res)},
	nfs3.ProcReadDirPlus: {args[oracle.Readdirplus3args], results(oracle.ReadReaddirplus3res)},
	nfs3.ProcFSStat:      {args[oracle.Fsstat3args], results(oracle.ReadFsstat3res)},
	nfs3.ProcFSInfo:      {args[oracle.Fsinfo3args], results(oracle.ReadFsinfo3res)},
	nfs3.ProcPathConf:    {args[oracle.Pathconf3args], results(oracle.ReadPathconf3res)},
	nfs3.ProcCommit:      {args[oracle.Commit3args], results(oracle.ReadCommit3res)},
}

func args[T any, P interface {
	*T
	io.ReaderFrom
	io.WriterTo
}](r io.Reader) (io.WriterTo, error) {
	p := P(new(T))
	_, err := p.ReadFrom(r)
	return p, err
}

func results[T io.WriterTo](read func(io.Reader) (T, int64, error)) func(io.Reader) (io.WriterTo, error) {
	return func(r io.Reader) (io.WriterTo, error) {
		m, _, err := read(r)
		return m, err
	}
}

// TestOracle encodes random messages and lets an independent codec decode them.
func TestOracle(t *testing.T) {
	for p, k := range kinds {
		t.Run(p.String(), rapid.MakeCheck(func(t *rapid.T) {
			for _, reply := range []bool{false, true} {
				m, read := k.args(), oracles[p].args
				if reply {
					m, read = k.results(), oracles[p].results
				}
				fill(t, reflect.ValueOf(m).Elem())
				b := encode(m)
				if reply && p != nfs3.ProcRead && p != nfs3.ProcReadDir && p != nfs3.ProcReadDirPlus && len(b) > k.max {
					t.Fatalf("%d bytes, at most %d expected", len(b), k.max)
				}
				r := bytes.NewReader(b)
				o, err := read(r)
				if err != nil || r.Len() > 0 {
					t.Fatalf("oracle: %v, %d bytes left\n%+v\n%x", err, r.Len(), m, b)
				}
				var again bytes.Buffer
				if _, err := o.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
					t.Fatalf("oracle: %v\n%x\n%x", err, b, again.Bytes())
				}
				back := capture{p, reply, nil}
				got := back.make()
				if err := decode(got, b); err != nil || !bytes.Equal(encode(got), b) {
					t.Fatalf("decoded: %v\n%+v\n%+v", err, m, got)
				}
			}
		}))
	}
}

// fill sets the exported fields of a message to random values that can be encoded.
func fill(t *rapid.T, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *nfs3.FH:
		*x = nfs3.MakeFH(rapid.SliceOfN(rapid.Byte(), 0, nfs3.FHSize).Draw(t, "handle"))
		return
	case *nfs3.Status:
		*x = rapid.SampledFrom([]nfs3.Status{nfs3.OK, nfs3.OK, nfs3.ErrStale, nfs3.ErrNotSync}).Draw(t, "status")
		return
	case *nfs3.FileType:
		*x = nfs3.FileType(rapid.Uint32Range(1, 7).Draw(t, "type"))
		return
	case *nfs3.TimeHow:
		*x = nfs3.TimeHow(rapid.Uint32Range(0, 2).Draw(t, "how"))
		return
	case *nfs3.StableHow:
		*x = nfs3.StableHow(rapid.Uint32Range(0, 2).Draw(t, "stable"))
		return
	case *nfs3.CreateMode:
		*x = nfs3.CreateMode(rapid.Uint32Range(0, 2).Draw(t, "mode"))
		return
	case *string:
		// Any bytes would do; text reads better in a failure.
		*x = rapid.StringMatching(`[a-z.]{0,20}`).Draw(t, "name")
		return
	case *readRes:
		fill(t, reflect.ValueOf(&x.Status).Elem())
		fill(t, reflect.ValueOf(&x.Attr).Elem())
		p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data")
		x.Count, x.Data = uint32(len(p)), [][]byte{p}
		return
	case *symlinkArgs:
		fill(t, reflect.ValueOf(&x.Where).Elem())
		fill(t, reflect.ValueOf(&x.Set).Elem())
		fill(t, reflect.ValueOf(&x.Path).Elem())
		return
	case *writeArgs:
		fill(t, reflect.ValueOf(&x.File).Elem())
		fill(t, reflect.ValueOf(&x.Stable).Elem())
		p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data")
		x.Count, x.Data = uint32(len(p)), [][]byte{p}
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "uint32")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint64"))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 3).Draw(t, "len"), 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	default:
		t.Fatalf("a field of type %v", v.Type())
	}
}

// TestMax checks that the longest results have the stated length. Transports provide that much
// room.
func TestMax(t *testing.T) {
	fh := nfs3.PostOpFH{Present: true, FH: nfs3.MakeFH(make([]byte, nfs3.FHSize))}
	attr := nfs3.PostOpAttr{Present: true}
	attr.Attr.Type = nfs3.TypeReg
	wcc := nfs3.WccData{Before: nfs3.PreOpAttr{Present: true}, After: attr}
	for p, m := range map[nfs3.Proc]message{
		nfs3.ProcGetAttr:     &nfs3.GetAttrRes{},
		nfs3.ProcSetAttr:     &nfs3.SetAttrRes{Wcc: wcc},
		nfs3.ProcLookup:      &nfs3.LookupRes{File: fh.FH, Attr: attr, Dir: attr},
		nfs3.ProcAccess:      &nfs3.AccessRes{Attr: attr},
		nfs3.ProcRead:        &nfs3.ReadRes{Attr: attr},
		nfs3.ProcWrite:       &nfs3.WriteRes{Wcc: wcc},
		nfs3.ProcCreate:      &nfs3.CreateRes{File: fh, Attr: attr, Dir: wcc},
		nfs3.ProcMkdir:       &nfs3.CreateRes{File: fh, Attr: attr, Dir: wcc},
		nfs3.ProcFSStat:      &nfs3.FSStatRes{Attr: attr},
		nfs3.ProcFSInfo:      &nfs3.FSInfoRes{Attr: attr},
		nfs3.ProcPathConf:    &nfs3.PathConfRes{Attr: attr},
		nfs3.ProcCommit:      &nfs3.CommitRes{Wcc: wcc},
		nfs3.ProcReadLink:    &nfs3.ReadLinkRes{Attr: attr, Path: "twenty bytes of path"},
		nfs3.ProcSymlink:     &nfs3.CreateRes{File: fh, Attr: attr, Dir: wcc},
		nfs3.ProcMknod:       &nfs3.CreateRes{File: fh, Attr: attr, Dir: wcc},
		nfs3.ProcRemove:      &nfs3.RemoveRes{Dir: wcc},
		nfs3.ProcRmdir:       &nfs3.RemoveRes{Dir: wcc},
		nfs3.ProcRename:      &nfs3.RenameRes{From: wcc, To: wcc},
		nfs3.ProcLink:        &nfs3.LinkRes{Attr: attr, Dir: wcc},
		nfs3.ProcReadDir:     &nfs3.ReadDirRes{ReadDirPlusRes: nfs3.ReadDirPlusRes{Dir: attr, Entries: []nfs3.Entry{{Name: "abc"}}}},
		nfs3.ProcReadDirPlus: &nfs3.ReadDirPlusRes{Dir: attr, Entries: []nfs3.Entry{{Name: "abc", Attr: attr, File: fh}}},
	} {
		want := kinds[p].max
		const listEnd = 4 + 4 // no more entries; end of the directory or not
		switch ent := (nfs3.Entry{Name: "abc", Attr: attr, File: fh}); p {
		case nfs3.ProcReadDir:
			want = nfs3.ReadDirPlusResMax(ent.NameLen() + listEnd)
		case nfs3.ProcReadDirPlus:
			want = nfs3.ReadDirPlusResMax(ent.Len() + listEnd)
		}
		if got := len(encode(m)); got != want {
			t.Errorf("%v: %d bytes, want %d", p, got, want)
		}
	}
}
