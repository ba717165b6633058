package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// forgetful is a connection to a server that forgets what it has answered: each call that makes or removes something is
// executed twice, as if the first answer had been lost with a connection.
type forgetful struct{ oncrpc.Transport }

func (f forgetful) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	switch proc := nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[5*4:])); proc { // behind xid, type and versions (RFC 5531 section 9)
	case nfs3.ProcMkdir, nfs3.ProcSymlink, nfs3.ProcRemove, nfs3.ProcRmdir, nfs3.ProcRename, nfs3.ProcLink:
		first := *x
		if err := f.Transport.RoundTrip(ctx, &first); err != nil {
			return err
		}
		first.Release()
		x.Repeated = true
	}
	return f.Transport.RoundTrip(ctx, x)
}

// TestRepeated: what a call has done before its connection ended is not taken for a failure where that can be found out.
func TestRepeated(t *testing.T) {
	r := startRig(t)
	m := mountAs(t, dialTCP(t, r.tcp), 0, "/memory")
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{})
	if err != nil {
		t.Fatal(err)
	}
	client := nfsclient.New(forgetful{dialTCP(t, r.tcp)}, cred)
	export := &remote{nfsfs.New(client, m.root, nfsfs.Config{}), client, nfsmount.Root{Handle: m.root, Export: "/memory"}}
	at := func(name string) operand { return operand{remote: export, url: "tcp://h/memory/" + name, name: name} }
	var stderr bytes.Buffer
	cmd := &cobra.Command{Use: "test"}
	cmd.SetContext(t.Context())
	cmd.SetErr(&stderr)
	w := &work{cmd: cmd, remotes: &remotes{flags: newRemoteFlags()}}
	slot := func(name string) slot { return slot{dir: m.root, base: name, url: "tcp://h/memory/" + name} }
	for _, name := range []string{"a", "b", "c"} {
		m.put(t, name, nil)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want string // why it fails
	}{
		{"rm", func() error { return (&rmFlags{}).remove(w, at("a")) }, ""},
		{"mv", func() error { return (&mvFlags{}).move(w, at("b"), slot("b2")) }, ""},
		{"ln", func() error { return (&lnFlags{}).hard(w, at("c"), slot("c2")) }, ""},
		{"ln, replacing", func() error { return (&lnFlags{force: true}).hard(w, at("c"), slot("b2")) }, ""},
		{"ln -s", func() error { return symlink(w, client, m.root, "l", "c") }, ""},
		{"ln -s, of another", func() error { return symlink(w, client, m.root, "l", "a") }, "file exists" + repeatedNote},
		{"mkdir", func() error { return (&mkdirFlags{}).make(t.Context(), at("d")) }, "file exists" + repeatedNote},
		{"mkdir -p", func() error { return (&mkdirFlags{parents: true}).make(t.Context(), at("d/e")) }, ""},
		{"mkdir -p, parents", func() error { return (&mkdirFlags{parents: true}).make(t.Context(), at("d/f/g")) }, ""},
		{"mkdir, empty", func() error { return (&mkdirFlags{}).make(t.Context(), at("empty")) }, "file exists" + repeatedNote},
		{"rm -d", func() error { return (&rmFlags{empty: true}).remove(w, at("empty")) }, ""},
		{"rm -r", func() error { return (&rmFlags{recursive: true}).remove(w, at("d")) }, ""},
	} {
		got := ""
		if err := tt.do(); err != nil {
			got = reason(err)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("on standard error: %s", &stderr)
	}
	if got, want := r.exec(t, "tcp", "ls", "-a", "@/memory"), (outcome{0, "b2\nc\nc2\nl\n", ""}); got != want {
		t.Errorf("then there is %+v, want %+v", got, want)
	}
}
