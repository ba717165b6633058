package copy

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// perDirectory is how many small files are in a directory.
const perDirectory = 100

// delay is the delay of the slower relay, each way.
const delay = time.Millisecond

// smallRig is shared by all ways to copy small files.
type smallRig struct {
	rig
	near, far map[string]string // URLs of the export by scheme, through the relays
	rsync     string            // URL of the daemon; empty if there is no rsync
}

// smallWay is one way to copy them.
type smallWay struct {
	name string
	to   string // local directory that it makes
	args []string
}

func (w smallWay) String() string { return w.name }

// BenchmarkSmall copies a tree of small files in all ways in turn. One iteration covers all rounds.
func BenchmarkSmall(b *testing.B) {
	o := env.Default()
	o.Files, o.Rounds = 20000, 3
	o, err := env.Read(o)
	if err != nil {
		b.Fatal(err)
	}
	r := newSmallRig(b, o.Files)
	ways := r.ways()
	for b.Loop() {
		r.report(o, ways, byTurns(b, o.Rounds, ways, r.run))
	}
}

// newSmallRig makes the files, and starts a server of a directory with its relays, and an rsync
// daemon.
func newSmallRig(b *testing.B, files int) *smallRig {
	r := &smallRig{rig: rig{b: b, dir: b.TempDir(), command: build(b)}}
	r.source = r.path("source")
	random := rand.New(rand.NewPCG(1, 2))
	for i := range files {
		dir := filepath.Join(r.source, fmt.Sprint(i/perDirectory))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		content := make([]byte, 1<<10+random.IntN(3<<10))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), content, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	export := r.path("export")
	if err := os.Mkdir(export, 0o755); err != nil {
		b.Fatal(err)
	}
	r.serve("--export", "/bench="+export, "--squash", "none")
	r.near, r.far = r.relays(0), r.relays(delay)
	r.daemon()
	return r
}

// relays starts relays to the server, and returns its URLs through them.
func (r *smallRig) relays(delay time.Duration) map[string]string {
	urls := make(map[string]string)
	for _, direct := range []string{r.rdma, r.tcp} {
		u, err := url.Parse(direct)
		if err != nil {
			r.b.Fatal(err)
		}
		way := faultnet.Way{Delay: delay}
		relay, err := faultnet.NewRelay(u.Host, faultnet.Config{Up: way, Down: way})
		if err != nil {
			r.b.Fatal(err)
		}
		r.b.Cleanup(func() { relay.Close() })
		mount, err := url.Parse(r.tcp)
		if err != nil {
			r.b.Fatal(err)
		}
		urls[u.Scheme] = fmt.Sprintf("%s://%s/bench?mountport=%s", u.Scheme, relay.Addr(), mount.Port())
	}
	return urls
}

// daemon starts an rsync daemon, if there is an rsync.
func (r *smallRig) daemon() {
	if _, err := exec.LookPath("rsync"); err != nil {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.b.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close() // the daemon takes the port; another program is unlikely to take it first
	config := r.path("rsyncd.conf")
	module := fmt.Sprintf("use chroot = no\nuid = %d\ngid = %d\n[bench]\npath = %s\nread only = no\n",
		os.Getuid(), os.Getgid(), r.dir)
	if err := os.WriteFile(config, []byte(module), 0o644); err != nil {
		r.b.Fatal(err)
	}
	cmd := exec.Command("rsync", "--daemon", "--no-detach", "--config", config,
		"--address", "127.0.0.1", "--port", fmt.Sprint(addr.Port))
	if err := cmd.Start(); err != nil {
		r.b.Fatal(err)
	}
	r.b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for begin := time.Now(); ; {
		c, err := net.Dial("tcp", addr.String())
		if err == nil {
			c.Close()
			break
		}
		if time.Since(begin) > 10*time.Second {
			r.b.Fatal(err)
		}
	}
	r.rsync = fmt.Sprintf("rsync://%s/bench", addr)
}

// ways returns all ways in the order of a round. A get copies what a put before it has stored.
func (r *smallRig) ways() []smallWay {
	all := []smallWay{{"cp -r", "cp", []string{"cp", "-r", r.source, r.path("cp")}}}
	if r.rsync != "" {
		all = append(all,
			smallWay{"rsync there", "rsync", []string{"rsync", "-rW", r.source + "/", r.rsync + "/rsync/"}},
			smallWay{"rsync back", "rsynced", []string{"rsync", "-rW", r.rsync + "/source/", r.path("rsynced") + "/"}},
		)
	}
	for _, scheme := range []string{"rdma", "tcp"} {
		for _, via := range []struct {
			name string
			urls map[string]string
		}{{"", r.near}, {", 1 ms each way", r.far}} {
			base, err := url.Parse(via.urls[scheme])
			if err != nil {
				r.b.Fatal(err)
			}
			at := base.JoinPath("tree").String()
			all = append(all,
				smallWay{"put over " + scheme + via.name, "", []string{r.command, "put", "-rTq", r.source, at}},
				smallWay{"get over " + scheme + via.name, "get", []string{r.command, "get", "-rTq", at, r.path("get")}},
			)
		}
	}
	return all
}

// run copies in one way to a new place. The tree stays at the server for the get that follows.
func (r *smallRig) run(w smallWay) sample {
	if w.to == "" {
		if err := os.RemoveAll(r.path("export/tree")); err != nil {
			r.b.Fatal(err)
		}
	}
	s := r.timed(w.name, func() (time.Duration, error) { return finish(exec.Command(w.args[0], w.args[1:]...)) })
	made := r.path("export/tree")
	if w.to != "" {
		made = r.path(w.to)
		defer os.RemoveAll(made)
	}
	if out, err := exec.Command("diff", "-r", r.source, made).CombinedOutput(); err != nil {
		r.b.Fatalf("%s: %v\n%s", w.name, err, out)
	}
	return s
}

// report prints a table.
func (r *smallRig) report(o env.Options, ways []smallWay, samples map[string][]sample) {
	fmt.Printf("\n%d files of 1 to 4 KiB in %s, %d rounds, %d CPUs, %s/%s, %s\n", o.Files, r.dir, o.Rounds,
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\ts\ttime to cp\t")
	for _, way := range ways {
		s := samples[way.name]
		took := median(s, func(s sample) float64 { return s.took.Seconds() })
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t\n", way.name, took, 1/ratio(s, samples["cp -r"]))
	}
	w.Flush()
	if r.rsync == "" {
		fmt.Println("there is no rsync here to compare with")
	}
}
