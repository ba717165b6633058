package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// A server that counts and logs calls, and admits only users of group 100.
func Example_interceptors() {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // varies from run to run
			}
			return a
		},
	}))
	m := metrics.New()
	prometheus.NewRegistry().MustRegister(m)

	logCall := func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
		err := next(ctx, c)
		logger.Info("call", "by", c.Identity(), "procedure", c.Procedure, "outcome", oncrpc.OutcomeForCaller(err))
		return err
	}
	authorize := func(ctx context.Context, c *oncrpc.Call) (context.Context, error) {
		if cred, ok := c.Sys(); !ok || cred.GID != 100 {
			return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}
		return ctx, nil
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Logger:       logger,
		Interceptors: []oncrpc.ServerInterceptor{m.ServeCall, logCall}, // the first is outermost
	})
	err := srv.Handle(oncrpc.Program{Name: "GREET", Number: 400000, Version: 1, Authorize: authorize,
		Procedures: []oncrpc.Procedure{1: {Name: "HELLO", Handler: hello}}})
	if err != nil {
		log.Fatal(err)
	}
	m.AddServer("greetings", srv)
	l, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{Counters: m.IWARP(), Logger: logger})
	if err != nil {
		log.Fatal(err)
	}
	go rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{Counters: m.RDMA(), Logger: logger})
	defer srv.Shutdown(ctx)

	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for _, group := range []uint32{100, 200} {
		auth, err := oncrpc.AuthSys(oncrpc.SysCred{UID: 7, GID: group})
		if err != nil {
			log.Fatal(err)
		}
		err = oncrpc.NewClient(conn, 400000, 1, auth).Call(ctx, 1, nil, new(greeting))
		var denied *oncrpc.AuthError
		fmt.Println("denied:", errors.As(err, &denied))
	}
	fmt.Println("series of calls:", testutil.CollectAndCount(m, "rpcrdma_server_calls_total"))
	// Output:
	// level=INFO msg=call by="uid 7, gid 100" procedure=1 outcome=<nil>
	// denied: false
	// level=INFO msg=call by="uid 7, gid 200" procedure=1 outcome="denied: AUTH_TOOWEAK"
	// denied: true
	// series of calls: 2
}

func hello(_ context.Context, c *oncrpc.Call) error {
	c.Results.String("hello", 255)
	return nil
}
