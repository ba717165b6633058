//go:build interop

package linux

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/rping"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// serveRXE starts a server of both exports over RoCE, iWARP and TCP, at this end of a wire.
func serveRXE(t *testing.T, w *wire, options ...string) *nfsd {
	t.Helper()
	s := newNFSD(t, w.host.String())
	s.Server = served.StartAt(t, w.host, command, s.options(append(options, "--provider", "iwarp,roce"))...)
	return s
}

// TestRXE mounts over rdma_rxe, and runs all steps on both file systems.
func TestRXE(t *testing.T) {
	t.Parallel()
	n := sizes{data: 8<<20 + 1, entries: 1000, fio: 16}
	if *full {
		n = sizes{data: 256 << 20, entries: 10_000, fio: 64}
	}
	testRXE(t, exports, n)
}

// testRXE runs all steps on exports.
func testRXE(t *testing.T, exports []string, n sizes) {
	t.Helper()
	w := newWire(t, faultnet.Way{})
	s := serveRXE(t, w)
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	s.runSteps(t, sh[0], exports, allSteps(t), n)
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	w.seen.end(t)
}

// rpings is how many pings go each way.
const rpings = 10_000

// TestRXERping lets rping on rdma_rxe and ours ping each other in both roles, over IPv4 and IPv6.
// Both ends verify every byte.
func TestRXERping(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	for _, tt := range []struct {
		name        string
		host, guest string
		count, size int
	}{
		{"IPv4", w.host.String(), w.guest.String(), rpings, 100},
		{"IPv4, long", w.host.String(), w.guest.String(), 50, 60_000},
		{"IPv6", w.host6.String(), w.guest6(), rpings, 100},
		{"IPv6, long", w.host6.String(), w.guest6(), 50, 60_000},
	} {
		cfg := roce.Config{Local: netip.MustParseAddr(tt.host)}
		o := rping.Options{Size: tt.size, Verify: true}
		t.Run(tt.name+"/kernel is client", func(t *testing.T) {
			l, err := roce.Listen(t.Context(), netip.AddrPortFrom(cfg.Local, rpingPort).String(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			sh[0].start(t, fmt.Sprintf("rping -c -a %s -p %d -C %d -S %d -V", tt.host, rpingPort, tt.count, tt.size))
			ctx, cancel := context.WithTimeout(t.Context(), silence)
			defer cancel()
			req, err := l.Accept(ctx)
			if err != nil {
				t.Fatal(err)
			}
			ep, err := req.Accept(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			pinged(t, sh[0], ep, tt.count, func() (int, error) { return rping.Serve(ctx, ep, o) })
		})
		t.Run(tt.name+"/kernel is server", func(t *testing.T) {
			// It listens when its main thread waits in futex, system call 202.
			sh[0].start(t, fmt.Sprintf("rping -s -a %s -p %d -C %d -S %d -V &\n"+
				"until grep -q '^202 ' /proc/$!/syscall 2>/dev/null; do usleep 20000; done\n"+
				"echo LISTENING; wait $!",
				tt.guest, rpingPort, tt.count, tt.size))
			sh[0].await(t, "LISTENING")
			ctx, cancel := context.WithTimeout(t.Context(), silence)
			defer cancel()
			ep, err := roce.Dialer{Config: cfg}.Dial(ctx, netip.AddrPortFrom(netip.MustParseAddr(tt.guest), rpingPort).String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			o.Count = tt.count
			pinged(t, sh[0], ep, tt.count, func() (int, error) { return rping.Client(ctx, ep, o) })
		})
	}
	g.closeShells(sh)
	g.wait(t)
	host, guest := w.seen.end(t)
	if host.Retransmitted+guest.Retransmitted > (host.Packets+guest.Packets)/1000 {
		t.Errorf("%d and %d packets were sent again", host.Retransmitted, guest.Retransmitted)
	}
}

// pinged runs our end of rping, and checks how both ended.
func pinged(t *testing.T, sh *shell, ep transport.Endpoint, want int, run func() (int, error)) {
	t.Helper()
	n, err := run()
	if err != nil || n != want {
		t.Errorf("%d pings here, error %v; want %d", n, err, want)
	}
	ep.Close()
	<-ep.Done()
	t.Log(sh.finish(t))
}

// TestRXERecovery kills the server while Linux writes, and cuts the network. Programs that write or
// make changes notice nothing.
func TestRXERecovery(t *testing.T) {
	t.Parallel()
	data := random(t, 8<<20)
	w := newWire(t, faultnet.Way{})
	g, sh := bootShells(t, machine{RXE: w.card}, 2)
	g.put("data", data)
	s := serveRXE(t, w)
	m := s.mount(t, sh[0], directory, "wsize=32768,rsize=32768")
	file := filepath.Join(s.dir, "file")
	sh[0].start(t, fmt.Sprintf(writeScript, m.at, len(data)>>20))
	awaitSize(t, file, 2<<20)
	s.Kill()
	s.Restart()
	t.Log("the server was killed, and started again")
	awaitSize(t, file, 4<<20)
	// A killed server has forgotten its replies, so changes could be made twice.
	sh[1].start(t, "rm -f /tmp/stop\n"+fmt.Sprintf(changesScript, m.at))
	// For longer than it takes either end to give the connection up.
	for _, d := range []faultnet.Direction{faultnet.Up, faultnet.Down} {
		w.SetWay(d, faultnet.Way{Loss: 1, Buffer: 4 << 20})
	}
	awaitDisconnect(t, m)
	for _, d := range []faultnet.Direction{faultnet.Up, faultnet.Down} {
		w.SetWay(d, faultnet.Way{Buffer: 4 << 20})
	}
	t.Log("the network was cut, and is there again")
	t.Log("SHA-256 ", sh[0].await(t, "SUM "))
	sh[0].finish(t)
	sh[0].run(t, "touch /tmp/stop")
	t.Logf("changes: %s", sh[1].await(t, "CHANGES "))
	sh[1].finish(t)
	c := m.counters(t)
	t.Logf("%+v", c)
	if c.Connects < 3 {
		t.Errorf("%d connections, want 3", c.Connects)
	}
	m.unmount(t)
	checkFile(t, file, data)
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	w.seen.end(t)
}

// awaitDisconnect waits until the guest has given up the connection of a mount.
func awaitDisconnect(t *testing.T, m *mount) {
	t.Helper()
	m.sh.g.spare.run(t, `
tries=0
while rdma resource show qp | grep "type RC" | grep -q "state RTS"; do
	tries=$((tries + 1))
	[ $tries -lt 1200 ] || exit 1
	usleep 100000
done
`)
}

// TestRXELoss moves data each way while every hundredth frame is lost.
func TestRXELoss(t *testing.T) {
	t.Parallel()
	size := 3 << 20
	if *full {
		size = 1 << 30
	}
	w := newWire(t, faultnet.Way{Loss: 0.01})
	s := serveRXE(t, w)
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	data := random(t, size)
	g.put("data", data)
	m := s.mount(t, sh[0], directory)
	start := time.Now()
	const piece = 32 // MiB: what takes long must say something now and then
	pieces := (size + piece<<20 - 1) / (piece << 20)
	for i := range pieces {
		sh[0].run(t, fmt.Sprintf("dd if=/host/data of=%s/file bs=1M count=%d skip=%d seek=%[3]d "+
			"conv=fsync,notrunc status=none", m.at, piece, i*piece))
	}
	t.Logf("%d MiB written in %.0f s", size>>20, time.Since(start).Seconds())
	start = time.Now()
	sh[0].run(t, "echo 3 >/proc/sys/vm/drop_caches")
	for i := range pieces {
		got := sh[0].run(t, fmt.Sprintf("dd if=%s/file bs=%dM skip=%d count=1 iflag=fullblock status=none | "+
			"sha256sum", m.at, piece, i))
		want := fmt.Sprintf("%x  -", sha256.Sum256(data[i*piece<<20:min((i+1)*piece<<20, size)]))
		if got != want {
			t.Errorf("piece %d: the guest reads %s, want %s", i, got, want)
		}
	}
	t.Logf("and read in %.0f s", time.Since(start).Seconds())
	m.unmount(t)
	checkFile(t, filepath.Join(s.dir, "file"), data)
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	w.seen.end(t)
}

// url returns the commands' URL of a path in an export of the kernel's server.
func (w *wire) url(path string) string {
	return fmt.Sprintf("rdma+roce://%s:%d%s?mountport=%d", w.guest, rdmaPort, path, mountPort)
}

// TestRXEKnfsd runs our client and commands against the kernel's NFS server on rdma_rxe, without
// loss and while every hundredth frame is lost.
func TestRXEKnfsd(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	m, size := machine{RXE: w.card}, 4<<20+3
	if *full {
		m.Memory = 3 << 10 // the export is in half of it
		size = 1 << 30
	}
	k := bootKnfsd(t, m)
	k.overRXE(t, w, size, 0, 0.01)
	k.end(t)
	w.endKnfsd(t)
}

// overRXE copies a file there and back over rdma_rxe, with each of several losses, and uses other
// commands.
func (k *knfsd) overRXE(t *testing.T, w *wire, size int, losses ...float64) {
	t.Helper()
	url := func(path string) string { return w.url(open + path) }
	data := random(t, size)
	file := localFile(t, data)
	for _, loss := range losses {
		k.sh[0].run(t, "rm -rf /export/*")
		w.lose(loss)
		k.do(t, "put", file, url("/file"))
		k.checkSum(t, "/export/file", data)
		back := filepath.Join(t.TempDir(), "back")
		k.do(t, "get", url("/file"), back)
		checkFile(t, back, data)
	}
	w.lose(0)
	k.sh[0].run(t, "mkdir /export/many && cd /export/many && i=0; while [ $i -lt 2000 ]; do : >entry-$i; i=$((i + 1)); done")
	if n := strings.Count(k.do(t, "ls", url("/many")), "\n"); n != 2000 {
		t.Errorf("ls prints %d lines, want 2000", n)
	}
	k.do(t, "ln", "-s", "target", url("/soft"))
	k.guestSays(t, "target", "readlink /export/soft")
	k.do(t, "touch", url("/new"))
	k.do(t, "chmod", "0640", url("/new"))
	k.guestSays(t, "640", "stat -c %a /export/new")
	k.do(t, "rm", "-r", url("/many"))
	k.guestSays(t, "gone", "[ -e /export/many ] || echo gone")
	k.do(t, "ping", "--count", "5", fmt.Sprintf("rdma+roce://%s:%d", w.guest, rdmaPort))
}

// endKnfsd is end of the observer of a wire to the kernel's server.
func (w *wire) endKnfsd(t *testing.T) {
	t.Helper()
	// The kernel moves a long reply by several RDMA Writes. tshark (4.0) finds that those of the
	// last page of a directory overlap, and misses the last 8 of its bytes; ls has had all entries.
	w.seen.end(t, "V3 READDIRPLUS Reply")
}
