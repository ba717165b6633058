//go:build interop

package linux

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/rping"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// rpingRuns are the cases of one variant of siw.
type rpingRuns []*rpingRun

// newRpingRuns returns the cases of a variant, with a listener for each case in which the kernel is
// the client.
func newRpingRuns(t *testing.T, siw string) (runs rpingRuns) {
	t.Helper()
	for i := range rpingTests[siw] {
		runs = append(runs, newRpingRun(t, &rpingTests[siw][i]))
	}
	if len(runs) == 0 {
		t.Fatalf("rping has no cases with siw %s", siw)
	}
	return runs
}

// forwards returns the forwarded ports of the cases in which the kernel is the server.
func (runs rpingRuns) forwards() (all []forward) {
	for _, r := range runs {
		if r.kernel == server {
			all = append(all, r.forward)
		}
	}
	return all
}

// run lets the kernel's rping and ours ping each other in both roles. Both ends check every byte:
// ours compares the data, and for the kernel's the hash of its output is compared.
func (runs rpingRuns) run(t *testing.T, sh *shell) {
	t.Helper()
	script := new(strings.Builder)
	script.WriteString(rpingScript)
	for _, r := range runs {
		fmt.Fprintf(script, "%s %d %d %d", r.kernel, r.port(), r.count, r.size)
		if r.createQP {
			script.WriteString(" -q")
		}
		script.WriteString("\n")
	}
	sh.start(t, script.String())
	for _, r := range runs {
		t.Run(fmt.Sprintf("kernel is %v/%s", r.kernel, r.name), func(t *testing.T) { r.run(t, sh) })
	}
	sh.finish(t)
}

// rpingScript defines the functions client and server. Their arguments are port, count, size and
// further options of rping. Each prints the port, rping's exit status, and the hash of its output
// about pings. When rping ends, one of its threads may find that another has closed what it uses.
// That is no error of the connection.
//
// A server is LISTENING when rping's main thread waits in futex, system call 202. A connection that
// comes earlier, when only TCP listens, is never accepted by siw.
const rpingScript = `
report() {
	cat /tmp/err
	[ $2 != 255 ] || ! grep -q "^rdma_get_cm_event: Bad file descriptor" /tmp/err || set $1 0
	echo "RPING $1 $2 $(grep "ping data: " /tmp/out | sha256sum)"
}
client() {
	port=$1 count=$2 size=$3
	timeout 120 rping -c -a 192.0.2.2 -p $port -C $count -S $size -V -v >/tmp/out 2>/tmp/err
	report $port $?
}
wait_for() { until grep -q "$@" 2>/dev/null; do usleep 20000; done; }
server() {
	port=$1 count=$2 size=$3
	shift 3
	: >/tmp/out
	timeout 120 rping -s -p $port -C $count -S $size -V -v "$@" >/tmp/out 2>/tmp/err &
	wait_for ": 00000000:$(printf %04X $port) .* 0A " /proc/net/tcp
	wait_for "^202 " /proc/$!/syscall
	echo "LISTENING $port"
	wait $!
	report $port $?
}
`

// rpingRun is a case and the means to run it.
type rpingRun struct {
	*rpingCase
	listener transport.Listener // of a kernel that is client
	forward  forward            // to one that is server
}

func newRpingRun(t *testing.T, c *rpingCase) *rpingRun {
	t.Helper()
	if c.count == 0 {
		c.count = 20
	}
	if c.size == 0 {
		c.size = rping.DefaultSize
	}
	r := &rpingRun{rpingCase: c}
	switch c.kernel {
	case client:
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		r.listener = l
	case server:
		// A new port of the guest, because a used one lingers.
		host := freePort(t)
		r.forward = forward{host, rpingPort + host%1000}
	}
	return r
}

// port is the port that the guest connects to, or listens on.
func (r *rpingRun) port() int {
	if r.kernel == server {
		return r.forward.Guest
	}
	return port(r.listener.Addr())
}

func (r *rpingRun) run(t *testing.T, sh *shell) {
	ctx, cancel := context.WithTimeout(t.Context(), silence)
	defer cancel()
	go func() { // without a guest there is nothing to wait for
		select {
		case <-sh.g.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	ep := r.connect(ctx, t, sh)
	setup, ok := iwarp.SetupOf(ep)
	if !ok {
		t.Fatal("the endpoint is none of iwarp's")
	}
	agreed := agreed{setup.Revision, setup.Enhanced, setup.CRC, setup.PeerToPeer, setup.RTR, setup.PeerIRD, setup.PeerORD}
	if diff := cmp.Diff(r.want, agreed); diff != "" {
		t.Errorf("the setup (-want +got):\n%s", diff)
	}
	o := rping.Options{Size: r.size, Verify: true}
	end := rping.Serve
	if r.kernel == server {
		end, o.Count = rping.Client, r.count
	}
	if n, err := end(ctx, ep, o); err != nil || n != r.count {
		t.Errorf("%d pings here, error %v; want %d", n, err, r.count)
	}
	got := sh.await(t, fmt.Sprintf("RPING %d ", r.port()))
	if want := fmt.Sprintf("0 %x  -", r.printed()); got != want {
		t.Errorf("rping ended with status and hash %q, want %q", got, want)
	}
}

// connect makes the connection.
func (r *rpingRun) connect(ctx context.Context, t *testing.T, sh *shell) transport.Endpoint {
	t.Helper()
	if r.kernel == server {
		sh.await(t, fmt.Sprintf("LISTENING %d", r.port()))
		addr := fmt.Sprintf("127.0.0.1:%d", r.forward.Host)
		for _, refused := range r.refused {
			ep, err := iwarp.Dialer{Config: refused.cfg}.Dial(ctx, addr, nil)
			var got *mpa.RejectError
			if !errors.As(err, &got) {
				t.Fatalf("Dial with %+v: got %v, %v, want a *mpa.RejectError", refused.cfg, ep, err)
			}
			if diff := cmp.Diff(&refused.want, got); diff != "" {
				t.Errorf("refusal of %+v (-want +got):\n%s", refused.cfg, diff)
			}
		}
		ep, err := iwarp.Dialer{Config: r.cfg}.Dial(ctx, addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ep
	}
	req, err := r.listener.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ep, err := req.Accept(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

// printed returns the hash of what rping prints about all pings.
func (r *rpingRun) printed() []byte {
	prefix := "ping data: "
	if r.kernel == server {
		prefix = "server ping data: "
	}
	h := sha256.New()
	for n := range r.count {
		io.WriteString(h, prefix)
		h.Write(bytes.TrimRight(rping.Data(n, r.size), "\x00"))
		io.WriteString(h, "\n")
	}
	return h.Sum(nil)
}
