package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// debugAddress is where --debug listens unless it names an address.
const debugAddress = "127.0.0.1:6060"

// addDebugFlag defines --debug.
func addDebugFlag(f *pflag.FlagSet, addr *string) {
	f.StringVar(addr, "debug", "", "answer profilers by HTTP at `ADDRESS`, such as go tool pprof; port 0: any")
	f.Lookup("debug").NoOptDefVal = debugAddress
}

// checkDebug finds what is wrong with --debug. Whoever reaches it sees names and memory, so that all addresses of the host have to be asked for.
func checkDebug(addr string) error {
	if addr == "" {
		return nil
	}
	if err := checkAddress("--debug", addr, ""); err != nil {
		return fmt.Errorf("--debug %q: write --debug=HOST:PORT, such as --debug=%s", addr, debugAddress)
	}
	if port, ok := strings.CutPrefix(addr, ":"); ok {
		return fmt.Errorf("--debug %q: write --debug=127.0.0.1:%s; or 0.0.0.0:%[2]s, if everybody may see what is in memory here", addr, port)
	}
	return nil
}

// debugHint is for who leaves a blank between --debug and its address.
func debugHint(f *pflag.FlagSet, arg string) string {
	if f.Changed("debug") && checkDebug(arg) == nil {
		return "; or write --debug=" + arg
	}
	return ""
}

// debugging is the HTTP server of --debug; nil where there is none.
type debugging struct {
	listener    net.Listener
	log         *slog.Logger
	http        http.Server
	connections sync.WaitGroup
	over        chan struct{} // closed when it takes no more connections; nil before it does
	cancel      context.CancelFunc
}

// listenDebug opens the port, if there is to be one. serve answers at it.
func listenDebug(ctx context.Context, addr string, log *slog.Logger) (*debugging, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, listenError("--debug", addr, err)
	}
	return &debugging{listener: l, log: log}, nil
}

// serve answers until close: with the profiles of net/http/pprof, and with what counters returns, as JSON.
func (d *debugging) serve(counters func() map[string]any) {
	if d == nil {
		return
	}
	mux := http.NewServeMux() // not the default one, where any package may have put something
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/vars", variables(counters))
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(context.Background()) // ends a profile that is being taken
	d.http = http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState:         d.count,
		ErrorLog:          slog.NewLogLogger(d.log.Handler(), slog.LevelWarn),
	}
	d.over = make(chan struct{})
	go func() {
		defer close(d.over)
		if err := d.http.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) {
			d.log.Error("no more answers to profilers", "err", err)
		}
	}()
}

// count is told when a connection begins, by the goroutine that takes connections, and when its own ends.
func (d *debugging) count(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		d.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		d.connections.Done()
	}
}

// variables answers with counters, and what Go says of itself, in the names of package expvar.
func variables(counters func() map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		all := map[string]any{"memstats": &m, "goroutines": runtime.NumGoroutine()}
		for name, v := range counters() {
			all[name] = v
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(all) // whoever asked has gone
	}
}

// greet tells where it is.
func (d *debugging) greet(b *strings.Builder) {
	if d != nil {
		fmt.Fprintf(b, "profiles on http://%s/debug/pprof/, counters on /debug/vars\n", d.listener.Addr())
	}
}

// close ends it, profiles that are being taken included.
func (d *debugging) close() {
	switch {
	case d == nil:
	case d.over == nil:
		d.listener.Close()
	default:
		d.cancel()
		d.http.Close()
		<-d.over
		d.connections.Wait()
	}
}
