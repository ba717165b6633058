//go:build interop

package linux

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
)

// checkWire looks for the words of files in captures, and decrypts them by tshark with the keytab
// of our servers.
func (r *realm) checkWire(t *testing.T, seen trail, words plainText) {
	for _, capture := range []string{seen.eth0, seen.eth1} {
		b, err := os.ReadFile(capture)
		if err != nil {
			t.Fatal(err)
		}
		for _, sec := range protections {
			word, _, _ := bytes.Cut(words.of(sec), []byte(" "))
			if got, want := bytes.Contains(b, word), sec != "krb5p"; got != want {
				t.Errorf("%s: what was written under %s is found: %v, want %v", capture, sec, got, want)
			}
		}
	}
	// that tshark finds in calls under krb5p, with the keytab and without
	names := make(map[bool][]string)
	for _, with := range []bool{true, false} {
		options := []string{"-o", "kerberos.decrypt:FALSE"}
		if with {
			options = []string{"-o", "kerberos.decrypt:TRUE", "-o", "kerberos.file:" + r.service}
		}
		for _, file := range []string{seen.eth0, seen.eth1} {
			lines := dissectWith(t, file, "rpc.authgss.service == 3 && nfs.name", options, "nfs.name")
			names[with] = append(names[with], lines...)
		}
	}
	t.Logf("tshark finds %d names with the keytab", len(names[true]))
	for _, name := range []string{"tcp-krb5p", "siw-krb5p", "rxe-krb5p"} {
		if !slices.Contains(names[true], name+"\n") {
			t.Errorf("tshark does not find %q with the keytab, but %q", name, names[true])
		}
	}
	if len(names[false]) > 0 {
		t.Errorf("tshark finds %q without the keytab", names[false])
	}
	r.checkSetups(t, seen.eth1)
}

// checkSetups checks that Linux made its contexts over TCP at the port of NFS, also for mounts over
// rdma_rxe. rpc.gssd knows no other way, so our server must listen there. Contexts are used and
// destroyed over RDMA.
func (r *realm) checkSetups(t *testing.T, file string) {
	t.Helper()
	const made, destroyed = 1, 3
	calls := func(procedure int, field string) []string {
		return dissect(t, file, fmt.Sprintf("rpc.authgss.procedure == %d && rpc.msgtyp == 0 && ip.src == %s",
			procedure, r.w.guest), field)
	}
	ports := calls(made, "tcp.dstport")
	if len(ports) == 0 {
		t.Error("no contexts are made")
	}
	for _, port := range ports {
		if port != fmt.Sprintf("%d\n", nfsPort) {
			t.Errorf("a context is made at port %q, want %d", port, nfsPort)
		}
	}
	if !slices.Contains(calls(destroyed, "udp.dstport"), "4791\n") {
		t.Error("no context is destroyed over RoCE")
	}
}
