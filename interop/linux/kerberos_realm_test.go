//go:build interop

package linux

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// The users, groups and hosts of the realm.
const (
	alice = 1000 // has a ticket
	bob   = 1001 // has none
	carol = 1002 // has one for a short time

	anonymous = 65534 // the user of principals that the server does not know

	serverName = "server.test" // our server through the guest's first card
	roceName   = "roce.test"   // our server through the second card
	guestName  = "guest.test"
	knfsdName  = "localhost" // knfsd through forwarded ports of this machine
	cardName   = "card.test" // knfsd through the guest's second card
)

// realm is a Kerberos realm shared by this machine and a guest.
type realm struct {
	*testkdc.KDC
	w       *wire
	command string // rpcrdma, which knows the realm
	service string // the keytab of our servers
	users   string // the file that says who alice and carol are
	cache   string // alice's, here
}

// newRealm starts a KDC with the principals that this machine and the guest on a wire need.
func newRealm(t *testing.T, w *wire) *realm {
	t.Helper()
	cfg := testkdc.Config{Libdefaults: []string{"udp_preference_limit = 1"}}
	if os.Getenv("LINUXVM_KERNEL") != "" { // from 6.3 on Linux knows SHA-2
		cfg.Enctypes = []string{"aes256-cts-hmac-sha384-192", "aes128-cts-hmac-sha256-128"}
	}
	kdc, err := testkdc.Start(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kdc.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &realm{KDC: kdc, w: w}
	for _, name := range r.services() {
		r.add(t, name, testkdc.Principal{})
	}
	r.add(t, "alice", testkdc.Principal{Password: "alice"})
	r.add(t, "bob", testkdc.Principal{Password: "bob"})
	r.add(t, "carol", testkdc.Principal{Password: "carol"})
	r.service = r.keytab(t, "nfs/"+serverName, "nfs/"+roceName)
	r.users = r.write(t, fmt.Sprintf("alice@%[1]s %[2]d:%[2]d\ncarol@%[1]s %[3]d:%[3]d\n", r.Realm, alice, carol), 0o600)
	hosts := r.write(t, fmt.Sprintf("127.0.0.1 localhost\n%s %s\n", w.guest, cardName), 0o644)
	r.command = r.write(t, fmt.Sprintf(commandScript, r.Conf(), hosts, command), 0o700)
	if r.cache, err = r.Kinit("alice", "alice"); err != nil {
		t.Fatal(err)
	}
	return r
}

// commandScript runs a command with the realm's configuration. It knows the name of the guest's
// card.
const commandScript = `#!/bin/sh
export KRB5_CONFIG=%s
exec unshare --mount sh -c 'mount --bind %s /etc/hosts && exec %s "$@"' sh "$@"
`

// services returns the principals that have random keys.
func (r *realm) services() []string {
	return []string{
		"nfs/" + serverName, "nfs/" + roceName, "nfs/" + guestName, "nfs/" + knfsdName,
		"nfs/" + cardName,
	}
}

func (r *realm) add(t *testing.T, name string, p testkdc.Principal) {
	t.Helper()
	if err := r.Add(name, p); err != nil {
		t.Fatal(err)
	}
}

// keytab writes a keytab with the keys of principals, and returns its path.
func (r *realm) keytab(t *testing.T, names ...string) string {
	t.Helper()
	file, err := r.Keytab(names...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// write writes a file of the realm and returns its path.
func (r *realm) write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := r.File("file")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts a server with more options at an address that has a name in the guest. It serves NFS
// and MOUNT over TCP at the port at which rpc.gssd makes contexts for mounts over RDMA.
func (r *realm) serve(t *testing.T, host netip.Addr, name string, options ...string) *nfsd {
	t.Helper()
	s := newNFSD(t, name)
	if err := os.Chmod(s.dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	all := append([]string{
		"--squash", "root", "--sec", "krb5:krb5i:krb5p", "--keytab", r.service, "--map-users", r.users,
		"--provider", map[string]string{serverName: "iwarp", roceName: "roce"}[name],
	}, options...)
	s.Server = served.StartOn(t, host, 0, nfsPort, r.command, s.options(all)...)
	return s
}

// joinScript makes a guest with rdma_rxe join the realm, and adds siw.
const joinScript = `
. /host/prelude
hostname %[1]s
cat >>/etc/hosts <<-END
	192.0.2.15 %[1]s
	192.0.2.2 %[2]s
	%[3]s %[4]s
END
for user in alice:%[5]d bob:%[6]d carol:%[8]d; do
	echo "${user%%:*}:x:${user#*:}:${user#*:}::/:/bin/sh" >>/etc/passwd
	echo "${user%%:*}:x:${user#*:}:" >>/etc/group
done
cp /host/krb5.conf /etc
(umask 077 && cp /host/krb5.keytab /etc)
printf '[General]\nDomain = test\nLocal-Realms = %[7]s\n[Translation]\nMethod = nsswitch\n' >/etc/idmapd.conf
mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
modprobe rpcsec_gss_krb5
` + addSIW + `
rpc.gssd -f -vv >/host/gssd 2>&1 &
as %[5]d %[5]d - kinit -k -t /host/alice.keytab alice
`

// join makes a guest join the realm, and gets a ticket for alice there.
func (r *realm) join(t *testing.T, sh *shell) {
	t.Helper()
	_, port, err := net.SplitHostPort(r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	sh.g.put("krb5.conf", []byte(r.ConfFor(net.JoinHostPort("192.0.2.2", port))))
	for name, file := range map[string]string{
		"prelude":      "steps/prelude.sh",
		"krb5.keytab":  r.keytab(t, "nfs/"+guestName, "nfs/"+knfsdName, "nfs/"+cardName),
		"alice.keytab": r.keytab(t, "alice"),
		"carol.keytab": r.keytab(t, "carol"),
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sh.g.put(name, data)
	}
	t.Log(sh.run(t, fmt.Sprintf(joinScript, guestName, serverName, r.w.host, roceName, alice, bob, r.Realm, carol)))
	t.Cleanup(func() {
		if t.Failed() {
			sh.g.show("gssd", 100)
			sh.g.show("svcgssd", 60)
			t.Logf("the KDC's log:\n%s", r.Log())
		}
	})
}

// trail names the captures of the traffic between a server and the guest.
type trail struct{ eth0, eth1 string }

// newTrail names the files.
func newTrail(t *testing.T, w *wire) trail {
	return trail{filepath.Join(evidence.Dir(t), "pcap"), w.seen.file}
}
