//go:build interop

package linux

import (
	"crypto/sha256"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// The ports in the guest.
const (
	rdmaPort  = 20049
	nfsPort   = 2049
	mountPort = 20048
	bindPort  = 111
)

// The kernel's exports. Each is a separate in-memory file system.
const (
	open     = "/export"   // root is root
	squashed = "/squashed" // root is 4242:4343
	readonly = "/readonly"
	private  = "/private" // is for another host
)

// knfsdScript has the kernel export directories in memory, and makes READ and WRITE as large as its
// own limit allows: by itself it takes that from the memory of the machine.
//
//nolint:misspell // exportfs is a program
const knfsdScript = `
set -e
modprobe nfsd
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w
for dir in squashed readonly private; do
	mkdir /$dir
	mount -t tmpfs tmpfs /$dir
	chmod 1777 /$dir
done
echo "what is in a read-only export" >/readonly/file
options=no_subtree_check,insecure
exportfs -o rw,no_root_squash,$options,fsid=1 '*:/export'
exportfs -o rw,root_squash,anonuid=4242,anongid=4343,$options,fsid=2 '*:/squashed'
exportfs -o ro,no_root_squash,$options,fsid=3 '*:/readonly'
exportfs -o rw,$options,fsid=4 '198.51.100.1:/private'
rpc.mountd -N 4 -p 20048
echo 1048576 >/proc/fs/nfsd/max_block_size
`

// addSIW adds siw to a guest with rdma_rxe.
const addSIW = `
insmod /host/siw.ko
rdma link add siw0 type siw netdev eth0
until rdma link show siw0/1 | grep -q ACTIVE; do usleep 100000; done
`

// knfsdStart and knfsdStop start it, with so many threads, and stop it.
const (
	knfsdStart = `
set -e
rpc.nfsd -N 4 8
echo 'rdma 20049' >/proc/fs/nfsd/portlist
`
	knfsdStop = `rpc.nfsd 0`
)

// knfsd is the kernel's NFS server in a guest, over RDMA and TCP.
type knfsd struct {
	*guest
	sh []*shell
	// Ports of this machine's 127.0.0.1 that lead to those of the guest.
	RDMA, TCP, Mount, Bind int
	// errors is how many calls it has answered with an RDMA_ERROR.
	errors int
}

// TestKnfsd runs our client and our commands against the kernel's NFS server.
func TestKnfsd(t *testing.T) {
	t.Parallel()
	pcap := filepath.Join(evidence.Dir(t), "pcap")
	k := bootKnfsd(t, machine{Capture: pcap})
	k.run(t)
	k.end(t)
	k.checkCapture(t, pcap)
}

// run runs the parts of TestKnfsd, or those that are named.
func (k *knfsd) run(t *testing.T, names ...string) {
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"setups", k.setups},
		{"mountd", k.mountd},
		{"limits", k.limits},
		{"credits", k.credits},
		{"commands", k.commands},
		{"copies", k.copies},
		{"names", k.names},
		{"set-ID", k.setID},
		{"trees", k.trees},
		{"large directory", k.largeDirectory},
		{"users", k.users},
		{"find", k.find},
		{"gateway", k.gateway},
		{"draft", k.draftClient},
	} {
		if names == nil || slices.Contains(names, part.name) {
			t.Run(part.name, part.test)
		}
	}
}

// bootKnfsd boots a guest with the kernel's server on siw, and on rdma_rxe if it has that.
func bootKnfsd(t *testing.T, m machine) *knfsd {
	t.Helper()
	k := &knfsd{RDMA: freePort(t), TCP: freePort(t), Mount: freePort(t), Bind: freePort(t)}
	m.Forwards = []forward{{k.RDMA, rdmaPort}, {k.TCP, nfsPort}, {k.Mount, mountPort}, {k.Bind, bindPort}}
	k.guest, k.sh = bootShells(t, m, 1)
	if m.RXE != nil {
		k.sh[0].run(t, addSIW)
	}
	k.sh[0].run(t, knfsdScript)
	k.sh[0].run(t, knfsdStart)
	return k
}

// end ends the guest. The kernel must have logged nothing unknown.
func (k *knfsd) end(t *testing.T, known ...string) {
	t.Helper()
	k.closeShells(k.sh)
	k.wait(t, append(known, `NFSD: `)...)
}

// dial connects by way of RDMA.
func (k *knfsd) dial(t *testing.T, cfg rpcrdma.Config) *rpcrdma.Conn {
	t.Helper()
	c, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{}, local(k.RDMA), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

// root asks mountd for an export's handle.
func (k *knfsd) root(t *testing.T, export string) nfs3.FH {
	t.Helper()
	c, err := recordmark.Dial(t.Context(), local(k.Mount), recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		c.Close()
		<-c.Done()
	}()
	h, err := nfsclient.Mount(t.Context(), c, user(t, 0), export)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// client connects by way of RDMA as root, and mounts an export.
func (k *knfsd) client(t *testing.T, cfg rpcrdma.Config, export string) (*rpcrdma.Conn, *nfsclient.Client, nfs3.FH) {
	t.Helper()
	conn := k.dial(t, cfg)
	return conn, nfsclient.New(conn, user(t, 0)), k.root(t, export)
}

// user returns the credential of a user, with the group of the same number.
func user(t *testing.T, id uint32) oncrpc.ClientFlavor {
	t.Helper()
	a, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test", UID: id, GID: id})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// local returns the address of a local port.
func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// url returns the commands' URL of a path in an export.
func (k *knfsd) url(scheme, path string) string {
	if scheme == "tcp" {
		return k.urlBy(scheme, k.TCP, path)
	}
	return k.urlBy(scheme, k.RDMA, path)
}

// urlBy is url with another port, such as a proxy's.
func (k *knfsd) urlBy(scheme string, port int, path string) string {
	return fmt.Sprintf("%s://%s%s?mountport=%d", scheme, local(port), path, k.Mount)
}

// checkSum checks the content of a file inside the guest.
func (k *knfsd) checkSum(t *testing.T, name string, want []byte) {
	t.Helper()
	if got, want := k.sh[0].run(t, "sha256sum <"+name), fmt.Sprintf("%x  -", sha256.Sum256(want)); got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}
