package nfs3_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// message is the arguments or the results of a procedure.
type message interface {
	MarshalXDR(e *xdr.Encoder)
	UnmarshalXDR(d *xdr.Decoder)
}

// kinds makes the arguments and results of every procedure.
var kinds = map[nfs3.Proc]struct {
	args, results func() message
	max           int // of the results
}{
	nfs3.ProcGetAttr:  {mk[nfs3.GetAttrArgs], mk[nfs3.GetAttrRes], nfs3.GetAttrResMax},
	nfs3.ProcSetAttr:  {mk[nfs3.SetAttrArgs], mk[nfs3.SetAttrRes], nfs3.SetAttrResMax},
	nfs3.ProcLookup:   {mk[nfs3.LookupArgs], mk[nfs3.LookupRes], nfs3.LookupResMax},
	nfs3.ProcAccess:   {mk[nfs3.AccessArgs], mk[nfs3.AccessRes], nfs3.AccessResMax},
	nfs3.ProcRead:     {mk[nfs3.ReadArgs], func() message { return new(readRes) }, nfs3.ReadResMax},
	nfs3.ProcWrite:    {func() message { return new(writeArgs) }, mk[nfs3.WriteRes], nfs3.WriteResMax},
	nfs3.ProcCreate:   {mk[nfs3.CreateArgs], mk[nfs3.CreateRes], nfs3.CreateResMax},
	nfs3.ProcMkdir:    {mk[nfs3.MkdirArgs], mk[nfs3.CreateRes], nfs3.CreateResMax},
	nfs3.ProcFSStat:   {mk[nfs3.FSStatArgs], mk[nfs3.FSStatRes], nfs3.FSStatResMax},
	nfs3.ProcFSInfo:   {mk[nfs3.FSInfoArgs], mk[nfs3.FSInfoRes], nfs3.FSInfoResMax},
	nfs3.ProcPathConf: {mk[nfs3.PathConfArgs], mk[nfs3.PathConfRes], nfs3.PathConfResMax},
	nfs3.ProcCommit:   {mk[nfs3.CommitArgs], mk[nfs3.CommitRes], nfs3.CommitResMax},
	nfs3.ProcReadLink: {mk[nfs3.ReadLinkArgs], mk[nfs3.ReadLinkRes], nfs3.ReadLinkResMax(20)},
	nfs3.ProcSymlink:  {func() message { return new(symlinkArgs) }, mk[nfs3.CreateRes], nfs3.CreateResMax},
	nfs3.ProcMknod:    {mk[nfs3.MknodArgs], mk[nfs3.CreateRes], nfs3.CreateResMax},
	nfs3.ProcRemove:   {mk[nfs3.RemoveArgs], mk[nfs3.RemoveRes], nfs3.RemoveResMax},
	nfs3.ProcRmdir:    {mk[nfs3.RemoveArgs], mk[nfs3.RemoveRes], nfs3.RemoveResMax},
	nfs3.ProcRename:   {mk[nfs3.RenameArgs], mk[nfs3.RenameRes], nfs3.RenameResMax},
	nfs3.ProcLink:     {mk[nfs3.LinkArgs], mk[nfs3.LinkRes], nfs3.LinkResMax},
	nfs3.ProcReadDir:  {mk[nfs3.ReadDirArgs], mk[nfs3.ReadDirRes], nfs3.ReadDirPlusResMax(1000)},
	nfs3.ProcReadDirPlus: {mk[nfs3.ReadDirPlusArgs], mk[nfs3.ReadDirPlusRes],
		nfs3.ReadDirPlusResMax(1000)},
}

func mk[T any, P interface {
	*T
	message
}]() message {
	return P(new(T))
}

// readRes is ReadRes with room for data, which it encodes again.
type readRes struct{ nfs3.ReadRes }

func (r *readRes) UnmarshalXDR(d *xdr.Decoder) {
	r.Into = make([]byte, 1<<17)
	r.ReadRes.UnmarshalXDR(d)
	r.Data = [][]byte{r.Into[:r.Count]}
}

// writeArgs is WriteArgs that encodes the data it decoded.
type writeArgs struct{ nfs3.WriteArgs }

func (a *writeArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.WriteArgs.UnmarshalXDR(d)
	p, _ := a.Bulk.Bytes(context.Background())
	a.Data = [][]byte{p}
}

// symlinkArgs is SymlinkArgs that encodes the path it decoded.
type symlinkArgs struct{ nfs3.SymlinkArgs }

func (a *symlinkArgs) UnmarshalXDR(d *xdr.Decoder) {
	a.SymlinkArgs.UnmarshalXDR(d)
	p, _ := a.Bulk.Bytes(context.Background())
	a.Path = string(p)
}

func encode(m message) []byte {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	msg := e.Message()
	return msg.AppendTo(nil)
}

func decode(m message, b []byte) error {
	d := xdr.NewDecoder(b)
	m.UnmarshalXDR(d)
	return d.Finish()
}

// capture is a message that Linux sent.
type capture struct {
	proc  nfs3.Proc
	reply bool
	bytes []byte
}

func (c *capture) make() message {
	if c.reply {
		return kinds[c.proc].results()
	}
	return kinds[c.proc].args()
}

// captures returns the messages in testdata.
func captures(tb testing.TB) []capture {
	text, err := os.ReadFile("testdata/linux.txt")
	if err != nil {
		tb.Fatal(err)
	}
	procs := make(map[string]nfs3.Proc)
	for p := range kinds {
		procs[p.String()] = p
	}
	var all []capture
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue // NULL
		}
		p, ok := procs[f[1]]
		if !ok {
			continue
		}
		b, err := hex.DecodeString(f[2])
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, capture{p, f[0] == "reply", b})
	}
	return all
}

func TestLinux(t *testing.T) {
	seen := make(map[nfs3.Proc]int)
	for _, c := range captures(t) {
		seen[c.proc]++
		m := c.make()
		if err := decode(m, c.bytes); err != nil {
			t.Errorf("%v, reply %v: %v\n%x", c.proc, c.reply, err, c.bytes)
			continue
		}
		if got := encode(m); !bytes.Equal(got, c.bytes) {
			t.Errorf("%v, reply %v:\ngot  %x\nwant %x", c.proc, c.reply, got, c.bytes)
		}
	}
	for p := range kinds {
		// The capture has neither of these; TestOracle does.
		if p == nfs3.ProcMknod || p == nfs3.ProcReadDir {
			continue
		}
		if seen[p] < 2 {
			t.Errorf("%v: %d captured messages", p, seen[p])
		}
	}
}

func TestTruncated(t *testing.T) {
	for _, c := range captures(t) {
		for i := range c.bytes {
			if decode(c.make(), c.bytes[:i]) == nil {
				t.Errorf("%v, reply %v: %d bytes of %d decode", c.proc, c.reply, i, len(c.bytes))
			}
		}
		if decode(c.make(), append(c.bytes[:len(c.bytes):len(c.bytes)], 0, 0, 0, 0)) == nil {
			t.Errorf("%v, reply %v: decodes with bytes left over", c.proc, c.reply)
		}
	}
}

// TestLinuxFields checks the decoded fields of a few messages.
func TestLinuxFields(t *testing.T) {
	for _, c := range captures(t) {
		if c.proc == nfs3.ProcWrite && !c.reply {
			var a writeArgs
			if err := decode(&a, c.bytes); err != nil {
				t.Fatal(err)
			}
			if a.Count != 6 || a.Stable != nfs3.FileSync || string(a.Data[0]) != "small\n" || a.File.Len() != 20 {
				t.Errorf("WRITE: %+v", a)
			}
		}
		if c.proc == nfs3.ProcFSInfo && c.reply {
			var r nfs3.FSInfoRes
			if err := decode(&r, c.bytes); err != nil {
				t.Fatal(err)
			}
			if r.RtMax != 128<<10 || r.TimeDelta != (nfs3.Time{Sec: 1}) || r.Properties != 0x1b || r.MaxFileSize != 1<<63-1 {
				t.Errorf("FSINFO: %+v", r)
			}
		}
		if c.proc == nfs3.ProcReadDirPlus && c.reply {
			var r nfs3.ReadDirPlusRes
			if err := decode(&r, c.bytes); err != nil {
				t.Fatal(err)
			}
			n := nfs3.ReadDirPlusResMin + 4
			for i := range r.Entries {
				n += r.Entries[i].Len()
			}
			if len(r.Entries) != 6 || !r.EOF || r.Entries[0].Name != "." || n != len(c.bytes) {
				t.Errorf("READDIRPLUS: %d of %d bytes: %+v", n, len(c.bytes), r)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	fh := "00000004" + "01020304"
	for _, tt := range []struct {
		name  string
		proc  nfs3.Proc
		reply bool
		in    string
	}{
		{"handle too long", nfs3.ProcGetAttr, false, "00000044" + strings.Repeat("00", 68)},
		{"padding not zero", nfs3.ProcGetAttr, false, "00000003" + "01020304"},
		{"guard neither true nor false", nfs3.ProcSetAttr, false, fh + strings.Repeat("00", 24) + "00000002"},
		{"how to set a time", nfs3.ProcSetAttr, false, fh + strings.Repeat("00", 16) + "00000003" + "00000000" + "00000000"},
		{"createmode", nfs3.ProcCreate, false, fh + "00000001" + "61000000" + "00000003"},
		{"type to make", nfs3.ProcMknod, false, fh + "00000001" + "61000000" + "00000008"},
		{"stable_how", nfs3.ProcWrite, false, fh + "0000000000000000" + "00000004" + "00000003" + "00000004" + "01020304"},
		{"WRITE: count is not the length", nfs3.ProcWrite, false, fh + "0000000000000000" + "00000003" + "00000000" + "00000004" + "01020304"},
		{"READ: count is not the length", nfs3.ProcRead, true, "00000000" + "00000000" + "00000003" + "00000001" + "00000004" + "01020304"},
		{"READ: more than there is room for", nfs3.ProcRead, true, "00000000" + "00000000" + "00020001" + "00000001" + "00020001" + strings.Repeat("00", 0x20004)},
		{"ftype", nfs3.ProcGetAttr, true, "00000000" + "00000008" + strings.Repeat("00", 80)},
	} {
		c := capture{proc: tt.proc, reply: tt.reply}
		c.bytes, _ = hex.DecodeString(tt.in)
		if decode(c.make(), c.bytes) == nil {
			t.Errorf("%s: decodes", tt.name)
		}
	}
}

// TestTables checks that the tables of these tests have every procedure except NULL.
func TestTables(t *testing.T) {
	for p := nfs3.ProcNull + 1; p < nfs3.Procs; p++ {
		if _, ok := kinds[p]; !ok {
			t.Errorf("no arguments and results of %v", p)
		}
		if _, ok := oracles[p]; !ok {
			t.Errorf("no oracle for %v", p)
		}
	}
}
