package hostile_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// printFigures is the flag -figures: TestServe then runs all attacks, checks how bystanders fare,
// and prints the table of docs/security-bounds.md.
var printFigures = flag.Bool("figures", false, "measure how bystanders fare, and print that")

// scale multiplies the connections of an attack on the command, because its limits are the
// defaults. In virtual time the limits are an eighth of them.
const scale = 8

// The memory of the command, in bytes.
const (
	mebi = 1 << 20

	// program is the memory of the process without clients: its code, and the memory of Go's
	// runtime.
	program = 64 * mebi
	// files is the size of the bystanders' and attackers' files, twice because they may be copied.
	files = 16 * mebi
)

// promise is the most that the server may use during an attack.
type promise struct {
	memory int // in bytes
	files  int // descriptors
}

// serve starts the command, and returns it with a site to attack.
func serve(t *testing.T, command string, a *attack, w way, options ...string) (
	*served.Server, *site,
) {
	t.Helper()
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Files(dir); err != nil {
		t.Fatal(err)
	}
	// RoCE has a port of each address, which other servers and attackers may have.
	net := fmt.Sprintf("%s.%d", loopbackNet, 1+os.Getpid()%250)
	at := netip.MustParseAddr(fmt.Sprintf("%s.0.%d", net, 1+servers.Add(1)%250))
	providers := map[way]string{bySCTP: "iwarp,sctp", byRoCE: "iwarp,roce"}
	apart := apart(t)
	s := served.StartOn(t, at, 0, 0, command, slices.Concat(a.options, options, []string{
		"--memory", exportPath,
		"--squash", "none", "--log-level", "error", "--dialect", a.dialect.String(),
		"--provider", cmp.Or(providers[w], "iwarp"),
		"--sctp-udp", "0", "--metrics", at.String() + ":0",
		"--tls-cert", dir + "/server.pem", "--tls-key", dir + "/server.key",
	})...)
	apart()
	where := &site{
		rdma: fmt.Sprintf("%v:%d", at, s.RDMA), tcp: fmt.Sprintf("%v:%d", at, s.TCP),
		sctp: s.SCTP, metrics: s.Metrics, dialer: dialFrom, net: net,
		limits: limits{maxMessage: 4 << 20, maxRecord: recordmark.DefaultMaxRecord, inFlight: 64},
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := recordmark.Dial(ctx, where.tcp, recordmark.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	su, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test"})
	if err != nil {
		t.Fatal(err)
	}
	where.file, err = makeFile(ctx, nfsclient.New(conn, su))
	if err != nil {
		t.Fatal(err)
	}
	return s, where
}

// servers counts the servers of this process.
var servers atomic.Int32

// apart pins processes started from now on to one CPU. After started, everything else runs on the
// other CPUs. With -figures the server has a CPU of its own, as on a separate host.
func apart(t *testing.T) (started func()) {
	t.Helper()
	if !*printFigures {
		return func() {}
	}
	cpus, err := host.AllowedCPUs()
	if err != nil || len(cpus) < 2 {
		t.Fatalf("figures take two CPUs: %v, %v", cpus, err)
	}
	pin := func(cpus ...int) (undo func() error) {
		undo, err := host.Pin(cpus...)
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
	undo := pin(cpus[0])
	return func() {
		undo()
		undo = pin(cpus[1:]...)
		t.Cleanup(func() { undo() })
	}
}

// makeFile makes the attackers' file, with data in it, and opens the root directory to everybody.
func makeFile(ctx context.Context, c *nfsclient.Client) (nfs3.FH, error) {
	root, err := c.Mount(ctx, exportPath)
	if err != nil {
		return nfs3.FH{}, err
	}
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}}
	if _, err := c.SetAttr(ctx, root, mode, nil); err != nil {
		return nfs3.FH{}, err
	}
	o, err := c.Create(ctx, root, "file", nfs3.CreateHow{Set: nfs3.Sattr{Mode: anybody}})
	if err != nil {
		return nfs3.FH{}, err
	}
	_, err = c.Write(ctx, o.File, 0, make([]byte, fileSize), nfs3.Unstable)
	return o.File, err
}

// loopbackNet is the beginning of the addresses of this host.
const loopbackNet = "127"

// dialFrom connects from one of the addresses of this host.
func dialFrom(host string) faultnet.DialContext {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	return d.DialContext
}

// peak returns the most memory that a process has had, in bytes.
func peak(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(kib)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// descriptors returns how many descriptors a process has open.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestExcluded attacks the command from a host that --allow does not name. Each connection costs
// one accept, but no memory and no lasting descriptor.
func TestExcluded(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outsider := ownAddress(t)
	for _, a := range attacks {
		switch a.name {
		case "connections that say nothing", "RDMA Reads that are not answered",
			"records that are begun":
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				a.onServe(t, command, a.over[0], promise{program + files, 50}, outsider,
					"--allow", "127.0.0.1")
			})
		}
	}
}

// ownAddress returns an address of this host outside of 127.0.0.0/8, which is one to --allow.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() && !p.Addr().IsLoopback() {
			return p.Addr().String()
		}
	}
	t.Skip("a client that --allow does not name takes an IPv4 address beside 127.0.0.0/8")
	return ""
}

// onServe attacks the command from one host: the outsider, or "" for one of 127.0.0.0/8. With
// -figures it returns how the bystanders fared.
func (a *attack) onServe(
	t *testing.T, command string, w way, promised promise, outsider string, options ...string,
) (f figure) {
	s, where := serve(t, command, a, w, options...)
	where.outsider = outsider
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all, err := where.join(ctx, early, w)
	defer func() { leave(all) }()
	if err != nil {
		t.Fatal(err)
	}
	raid := a.launch(t, where, w, scale*a.conns)
	defer raid.end()

	joining, cancelJoin := context.WithTimeout(ctx, patience)
	defer cancelJoin()
	late, err := where.join(joining, late, w)
	defer func() { leave(late) }()
	if err != nil {
		t.Error(err)
		return f
	}
	least := burst
	if a.flood { // which takes processor time
		least = 3
	}
	rate(t, slices.Concat(all, late), least, 0)
	f.memory = peak(t, s.PID())
	if f.memory > promised.memory {
		t.Errorf("the server took %d MiB, and its limits promise %d", f.memory/mebi,
			promised.memory/mebi)
	}
	if files := descriptors(t, s.PID()); files > promised.files {
		t.Errorf("the server has %d descriptors, and its limits promise %d", files, promised.files)
	}
	if *printFigures {
		f.share, f.calm, f.wait = raid.compare(t, all)
	}
	return f
}

// figure is how bystanders fared during an attack on the command, and what that took.
type figure struct {
	share      float64 // of the rounds without it, that the worst bystander made during it
	calm, wait float64 // the longest call without it and during it, in milliseconds
	memory     int     // in bytes
}

// compare lets bystanders work by turns while the attacker's process is stopped and while it runs.
// A stopped attacker keeps its connections. The figures are medians of several pairs.
func (r *raid) compare(t *testing.T, all []*bystander) (share, calm, wait float64) {
	t.Helper()
	const (
		pairs  = 5
		window = 300 * time.Millisecond
	)
	shares := make([][]float64, len(all))
	var calms, waits []float64
	measure := func(sig syscall.Signal) (rates []float64, ms float64) {
		r.signal(t, sig)
		rate(t, all, 1, window/4) // what is under way comes to its end
		for _, b := range all {
			b.longest = 0
		}
		rates = rate(t, all, 1, window)
		took, _ := longest(all)
		return rates, took.Seconds() * 1000
	}
	for range pairs {
		without, ms := measure(syscall.SIGSTOP)
		calms = append(calms, ms)
		under, ms := measure(syscall.SIGCONT)
		waits = append(waits, ms)
		for i := range all {
			shares[i] = append(shares[i], under[i]/without[i])
		}
	}
	median := func(x []float64) float64 {
		slices.Sort(x)
		return x[len(x)/2]
	}
	share = math.Inf(1)
	for _, of := range shares {
		share = min(share, median(of))
	}
	return share, median(calms), median(waits)
}

// rate lets each bystander make at least that many rounds, and more until the window ends. It
// returns the rounds a second of each.
func rate(t *testing.T, all []*bystander, least int, window time.Duration) []float64 {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("starved"))
	defer cancel()
	began := time.Now()
	rates := make([]float64, len(all))
	var group sync.WaitGroup
	for i, b := range all {
		group.Go(func() {
			n := 0
			for n < least || time.Since(began) < window {
				if err := b.round(ctx); err != nil {
					t.Errorf("%s: %v (%v)", b.name, err, context.Cause(ctx))
					break
				}
				n++
			}
			rates[i] = float64(n) / time.Since(began).Seconds()
		})
	}
	group.Wait()
	return rates
}
