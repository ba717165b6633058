package bench

import (
	"context"
	"log/slog"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// local is the server in this process, for Loopback.
type local struct {
	fabric *loopback.Fabric
	server *oncrpc.Server
	cancel context.CancelFunc
	served sync.WaitGroup
}

// startLocal starts one.
func startLocal(memory int64, w *trace.Writer, log *slog.Logger) (*local, error) {
	l := &local{fabric: loopback.New(), server: oncrpc.NewServer(oncrpc.ServerConfig{Logger: log})}
	if err := l.server.Handle(program.New()); err != nil {
		return nil, err
	}
	w.Loopback(l.fabric)
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	for _, name := range []string{chunkedListener, inlineListener, draftListener} {
		listener, err := l.fabric.Listen(name, loopback.Config{})
		if err != nil {
			l.stop()
			return nil, err
		}
		cfg := serverConfig(name, memory, log)
		l.served.Go(func() { _ = rpcrdma.Serve(ctx, listener, l.server, cfg) }) // until stop
	}
	return l, nil
}

// dialer reaches it.
func (l *local) dialer() transport.Dialer { return l.fabric.Dialer(loopback.Config{}) }

// stop ends it.
func (l *local) stop() {
	l.cancel()
	l.served.Wait()
	l.server.Close()
}
