package otel_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcrdma/go-rpcrdma/examples/otel"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

const program = 0x20001234

// calls has a client make two calls, the second of a procedure that is not there, and returns the
// spans in the order in which they have ended.
func calls(tracer func(sdk.SpanProcessor) trace.Tracer) tracetest.SpanStubs {
	ctx := context.Background()
	spans := tracetest.NewInMemoryExporter()
	t := tracer(sdk.NewSimpleSpanProcessor(spans))
	srv := oncrpc.NewServer(oncrpc.ServerConfig{
		Interceptors: []oncrpc.ServerInterceptor{otel.Server(t)},
	})
	srv.Handle(oncrpc.Program{Name: "GREET", Number: program, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Name: "HELLO", Handler: func(ctx context.Context, _ *oncrpc.Call) error {
			_, span := t.Start(ctx, "thinking")
			span.End()
			return nil
		}},
	}})
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{}) }()
	conn, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c := oncrpc.NewClient(conn, program, 1, oncrpc.AuthNone(), otel.Client(t))
	for _, procedure := range []uint32{1, 9} {
		_ = c.Call(ctx, procedure, nil, nil) // the spans have the error
	}
	conn.Close()
	srv.Shutdown(ctx)
	<-served
	return spans.GetSpans()
}

func tracer(p sdk.SpanProcessor) trace.Tracer {
	return sdk.NewTracerProvider(sdk.WithSpanProcessor(p)).Tracer("example")
}

func Example() {
	for _, s := range calls(tracer) {
		fmt.Println(s.SpanKind, s.Name+":", cmp.Or(s.Status.Description, "well"))
	}
	// Output:
	// internal thinking: well
	// server GREET/HELLO: well
	// client 536875572.1/1: well
	// server no such procedure: PROC_UNAVAIL
	// client 536875572.1/9: PROC_UNAVAIL
}

// TestTogether: what a handler does is below its call, and the spans of both ends have the same
// transaction id.
func TestTogether(t *testing.T) {
	byName := make(map[string]tracetest.SpanStub)
	for _, s := range calls(tracer) {
		byName[s.Name] = s
	}
	server, client := byName["GREET/HELLO"], byName["536875572.1/1"]
	if byName["thinking"].Parent.SpanID() != server.SpanContext.SpanID() {
		t.Error("what the handler does is not below its call")
	}
	xid := func(s tracetest.SpanStub) (id int64) {
		for _, a := range s.Attributes {
			if a.Key == "onc_rpc.xid" {
				id = a.Value.AsInt64()
			}
		}
		return id
	}
	if xid(server) == 0 || xid(server) != xid(client) {
		t.Errorf("the server's transaction id is %d, the client's %d", xid(server), xid(client))
	}
}
