package bench

import (
	"context"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// local is the server in this process, for Loopback.
type local struct {
	*service
	fabric *loopback.Fabric
	cancel context.CancelFunc
}

// startLocal starts it.
func startLocal(memory int64, w *trace.Writer, log *slog.Logger) (*local, error) {
	s, err := newService(oncrpc.ServerConfig{Logger: log})
	if err != nil {
		return nil, err
	}
	l := &local{service: s, fabric: loopback.New()}
	w.Loopback(l.fabric)
	var over []rdmaListener
	for _, name := range rdmaNames {
		listener, err := l.fabric.Listen(name, loopback.Config{})
		if err != nil {
			return nil, err
		}
		over = append(over, rdmaListener{name, listener})
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	l.start(ctx, memory, log, over)
	return l, nil
}

// dialer returns a dialer for it.
func (l *local) dialer() transport.Dialer { return l.fabric.Dialer(loopback.Config{}) }

// stop stops it.
func (l *local) stop() {
	l.cancel()
	_ = l.Wait() // it returns when ctx ends
	l.rpc.Close()
}
