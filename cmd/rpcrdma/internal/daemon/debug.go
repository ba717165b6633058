package daemon

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"

	"github.com/spf13/pflag"
)

// debugAddress is where --debug listens unless it names an address.
const debugAddress = "127.0.0.1:6060"

// AddDebugFlag defines --debug.
func AddDebugFlag(f *pflag.FlagSet, addr *string) {
	f.StringVar(addr, "debug", "", "serve profiles by HTTP at `ADDRESS`, for go tool pprof; port 0 picks a free one")
	f.Lookup("debug").NoOptDefVal = debugAddress
}

// CheckDebug checks --debug. Whoever reaches this port sees names and memory, so listening on all
// addresses takes an explicit 0.0.0.0.
func CheckDebug(addr string) error {
	if addr == "" {
		return nil
	}
	if err := CheckAddress("--debug", addr, ""); err != nil {
		return fmt.Errorf("--debug %q: write --debug=HOST:PORT, such as --debug=%s", addr, debugAddress)
	}
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		return fmt.Errorf("--debug %q: write --debug=127.0.0.1:%s, or 0.0.0.0:%[2]s if everybody may see the "+
			"memory of this process", addr, port)
	}
	return nil
}

// DebugHint is a hint for users who write a blank between --debug and its address.
func DebugHint(f *pflag.FlagSet, arg string) string {
	if f.Changed("debug") && CheckDebug(arg) == nil {
		return "; or write --debug=" + arg
	}
	return ""
}

// DebugHandler serves profiles, and what counters returns as JSON.
func DebugHandler(counters func() map[string]any) http.Handler {
	mux := http.NewServeMux() // not the default one, where any package may have put something
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/vars", variables(counters))
	return mux
}

// variables serves counters, and Go's memory statistics, under the names of package expvar.
func variables(counters func() map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		all := map[string]any{"memstats": &m, "goroutines": runtime.NumGoroutine()}
		for name, v := range counters() {
			all[name] = v
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(all) // fails only if the client has gone
	}
}

// GreetDebug prints the URL.
func GreetDebug(p *HTTPPort, b *strings.Builder) {
	if p != nil {
		fmt.Fprintf(b, "profiles on %s/debug/pprof/, counters on /debug/vars\n", p.url())
	}
}
