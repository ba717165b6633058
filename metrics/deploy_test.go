package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	metricName = regexp.MustCompile(`\brpcrdma_[a-z0-9_]+`)
	descName   = regexp.MustCompile(`fqName: "([^"]+)"`)
)

// TestDeploy: every metric named in the alert rules and the dashboard exists.
func TestDeploy(t *testing.T) {
	names := make(map[string]bool)
	descs := make(chan *prometheus.Desc)
	go func() {
		New().Describe(descs)
		close(descs)
	}()
	for d := range descs {
		names[descName.FindStringSubmatch(d.String())[1]] = true
	}
	for _, file := range []string{"prometheus/rules.yml", "grafana/rpcrdma.json"} {
		b, err := os.ReadFile(filepath.Join("..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		all := metricName.FindAllString(string(b), -1)
		if len(all) < 10 {
			t.Errorf("%s has %d names", file, len(all))
		}
		for _, name := range all {
			if !names[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}
