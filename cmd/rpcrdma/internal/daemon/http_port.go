package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// HTTPPort is an HTTP server of a command. A nil HTTPPort does nothing.
type HTTPPort struct {
	flag        string // that asks for it
	listener    *httpListener
	log         *slog.Logger
	http        http.Server
	connections sync.WaitGroup
	over        chan struct{} // closed when it takes no more connections; nil before it does
	cancel      context.CancelFunc
}

// ListenHTTP opens the port, or returns nil if addr is empty. Serve answers at it.
func ListenHTTP(ctx context.Context, flag, addr string, log *slog.Logger) (*HTTPPort, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, ListenError(flag, addr, err)
	}
	return &HTTPPort{flag: flag, listener: newHTTPListener(l, flag, log), log: log}, nil
}

// Serve answers until Close.
func (p *HTTPPort) Serve(h http.Handler) {
	if p == nil {
		return
	}
	var ctx context.Context
	// ends what takes long, such as a profile
	ctx, p.cancel = context.WithCancel(context.Background())
	p.http = http.Server{
		Handler:           p.listener.share(h),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext:       withHTTPConn,
		ConnState:         p.count,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	p.over = make(chan struct{})
	go func() {
		defer close(p.over)
		if err := p.http.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("the HTTP server has failed", "flag", p.flag, "err", err)
		}
	}()
}

// count counts connections. The goroutine that accepts calls it when one begins, and the
// connection's goroutine when it ends.
func (p *HTTPPort) count(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		p.connections.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.connections.Done()
	}
}

// url is its URL.
func (p *HTTPPort) url() string { return "http://" + p.listener.Addr().String() }

// Close ends it, with the answers under way.
func (p *HTTPPort) Close() {
	switch {
	case p == nil:
	case p.over == nil:
		p.listener.Close()
	default:
		p.cancel()
		p.http.Close()
		<-p.over
		p.connections.Wait()
	}
}
