package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/files"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestRepeated: a repeated call that has already succeeded does not count as a failure, if that can
// be found out.
func TestRepeated(t *testing.T) {
	r := startRig(t)
	m := mountAs(t, dialTCP(t, r.tcp), 0, "/memory")
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{})
	if err != nil {
		t.Fatal(err)
	}
	client := nfsclient.New(rig.Forgetful{Transport: dialTCP(t, r.tcp)}, cred)
	export := &remote.Export{FS: nfsfs.New(client, m.root, nfsfs.Config{}), Client: client, Root: nfsmount.Root{Handle: m.root, Export: "/memory"}}
	at := func(name string) remote.Operand {
		return remote.Operand{Export: export, URL: "tcp://h/memory/" + name, Name: name}
	}
	var stderr bytes.Buffer
	cmd := &cobra.Command{Use: "test"}
	cmd.SetContext(t.Context())
	cmd.SetErr(&stderr)
	w := &remote.Work{Cmd: cmd, Remotes: &remote.Session{Flags: remote.NewFlags()}}
	slot := func(name string) remote.Slot {
		return remote.Slot{Dir: m.root, Base: name, URL: "tcp://h/memory/" + name}
	}
	for _, name := range []string{"a", "b", "c"} {
		m.put(t, name, nil)
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want string // why it fails
	}{
		{"rm", func() error { return (&files.RmFlags{}).Remove(w, at("a")) }, ""},
		{"mv", func() error { return (&files.MvFlags{}).Move(w, at("b"), slot("b2")) }, ""},
		{"ln", func() error { return (&files.LnFlags{}).Hard(w, at("c"), slot("c2")) }, ""},
		{"ln, replacing", func() error { return (&files.LnFlags{Force: true}).Hard(w, at("c"), slot("b2")) }, ""},
		{"ln -s", func() error { return files.Symlink(w, client, m.root, "l", "c") }, ""},
		{"ln -s, of another", func() error { return files.Symlink(w, client, m.root, "l", "a") }, "file exists" + words.RepeatedNote},
		{"mkdir", func() error { return (&files.MkdirFlags{}).Make(t.Context(), at("d")) }, "file exists" + words.RepeatedNote},
		{"mkdir -p", func() error { return (&files.MkdirFlags{Parents: true}).Make(t.Context(), at("d/e")) }, ""},
		{"mkdir -p, parents", func() error { return (&files.MkdirFlags{Parents: true}).Make(t.Context(), at("d/f/g")) }, ""},
		{"mkdir, empty", func() error { return (&files.MkdirFlags{}).Make(t.Context(), at("empty")) }, "file exists" + words.RepeatedNote},
		{"rm -d", func() error { return (&files.RmFlags{Empty: true}).Remove(w, at("empty")) }, ""},
		{"rm -r", func() error { return (&files.RmFlags{Recursive: true}).Remove(w, at("d")) }, ""},
	} {
		got := ""
		if err := tt.do(); err != nil {
			got = words.Reason(err)
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
