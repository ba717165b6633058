//go:build interop

package prometheus

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// patience is how long a test waits for something to happen.
const patience = time.Minute

// TestPrometheus uses a server, and looks at it through Prometheus.
func TestPrometheus(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	at := free(t)
	s := served.Start(t, command, "--export", "/data="+dir, "--squash", "none", "--metrics", at)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	remote := fmt.Sprintf("rdma://127.0.0.1:%d/data", s.RDMA)
	do := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	do("put", file, remote+"/file")
	do("get", remote+"/file", filepath.Join(t.TempDir(), "back"))
	do("ls", fmt.Sprintf("tcp://127.0.0.1:%d/data", s.TCP))

	t.Run("promtool", func(t *testing.T) {
		status, text := get(t, "http://"+at+"/metrics")
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, text)
		}
		check := exec.Command("promtool", "check", "metrics")
		check.Stdin = strings.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
		for _, args := range [][]string{
			{"check", "config", "../../deploy/prometheus/prometheus.yml"},
			{"check", "rules", "../../deploy/prometheus/rules.yml"},
		} {
			if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %v: %v\n%s", args, err, out)
			}
		}
	})

	p := start(t, at)
	p.await(`rpcrdma_nfs_bytes_total{direction="written",export="/data"}`, 3<<20)
	p.await(`sum(rpcrdma_server_calls_total{procedure="WRITE",outcome="success"})>bool 0`, 1)
	p.await(`up{job="rpcrdma"}`, 1)
	t.Run("dashboard", p.dashboard)
	t.Run("rules", p.rules)
	t.Run("an export goes away", func(t *testing.T) {
		if status, text := get(t, "http://"+at+"/readyz"); status != http.StatusOK {
			t.Errorf("ready: %d, %s", status, text)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		status, text := get(t, "http://"+at+"/readyz")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "/data") {
			t.Errorf("ready: %d, %s", status, text)
		}
		p.await(`rpcrdma_nfs_export_up{export="/data"}`, 0)
		p.await(`count(ALERTS{alertname="RPCRDMAExportGone",alertstate="pending"})`, 1)
	})
	t.Run("native histograms", func(t *testing.T) {
		p := start(t, at, "--enable-feature=native-histograms")
		p.await(`histogram_count(rpcrdma_server_call_duration_seconds{procedure="WRITE"})>bool 0`, 1)
	})
}

// daemon is a running Prometheus.
type daemon struct {
	t   *testing.T
	url string
}

// start starts a Prometheus that scrapes an address with the configuration in deploy, but more
// often.
func start(t *testing.T, target string, flags ...string) *daemon {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"prometheus.yml", "rules.yml"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "prometheus", name))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), "localhost:9049", target)
		text = strings.ReplaceAll(text, "scrape_interval: 15s", "scrape_interval: 1s\n  evaluation_interval: 1s")
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := free(t)
	cmd := exec.Command("prometheus", append([]string{
		"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "db"),
		"--web.listen-address=" + at,
	}, flags...)...)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		stuck := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer stuck.Stop()
		_ = cmd.Wait()
		log.Close()
		if b, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("messages of Prometheus:\n%s", b)
		}
	})
	return &daemon{t, "http://" + at}
}

// query returns the values of an expression, or the error.
func (p *daemon) query(expr string) ([]string, error) {
	r, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", answer.Status, answer.Error)
	}
	var values []string
	for _, r := range answer.Data.Result {
		values = append(values, fmt.Sprint(r.Value[1]))
	}
	return values, nil
}

// await waits until an expression has a single value, want.
func (p *daemon) await(expr string, want int) {
	p.t.Helper()
	var values []string
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if values, err = p.query(expr); err == nil && len(values) == 1 && values[0] == fmt.Sprint(want) {
			return
		}
	}
	p.t.Fatalf("%s is %v, %v; want %d", expr, values, err, want)
}

// dashboard makes all queries of the dashboard.
func (p *daemon) dashboard(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "rpcrdma.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$job", ".+", "$instance", ".+", "$__rate_interval", "1m")
	asked := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			asked++
			if _, err := p.query(variables.Replace(target.Expr)); err != nil {
				t.Errorf("%s: %s: %v", panel.Title, target.Expr, err)
			}
		}
	}
	if asked < 12 {
		t.Errorf("the dashboard asks %d things", asked)
	}
	for _, shown := range []string{
		`histogram_quantile(0.99, sum by (le) (rate(rpcrdma_server_call_duration_seconds_bucket[1m])))`,
		`sum(rate(rpcrdma_rdma_bytes_total{way="read_chunk"}[1m]))`,
	} {
		p.some(shown)
	}
}

// some waits until an expression has a value.
func (p *daemon) some(expr string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if values, err := p.query(expr); err == nil && len(values) > 0 {
			return
		}
	}
	p.t.Errorf("%s has no value", expr)
}

// rules checks that all rules are evaluated without an error.
func (p *daemon) rules(t *testing.T) {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		_, text := get(t, p.url+"/api/v1/rules")
		var answer struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		good := 0
		for _, g := range answer.Data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					good++
				}
			}
		}
		if good >= 9 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d rules are evaluated: %s", good, text)
		}
	}
}

// get returns the status and the content of a URL.
func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// free returns an address with a free port.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
