// Package otel is an example: two interceptors that trace RPC calls with OpenTelemetry. It is a
// module of its own, so that other modules do not depend on OpenTelemetry. Copy what you need.
//
//	client := oncrpc.NewClient(conn, program, version, cred, otel.Client(tracer))
//	srv := oncrpc.NewServer(oncrpc.ServerConfig{
//		Interceptors: []oncrpc.ServerInterceptor{otel.Server(tracer)},
//	})
//
// RPC calls have no room for a trace context, so the spans of client and server are in different
// traces. Both have the transaction ID and the peer as attributes; match them by these.
package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Client returns an interceptor that makes a span for each call of a client.
func Client(t trace.Tracer) oncrpc.ClientInterceptor {
	return func(ctx context.Context, c *oncrpc.ClientCall,
		next func(context.Context, *oncrpc.ClientCall) error) error {
		ctx, span := t.Start(ctx, fmt.Sprintf("%d.%d/%d", c.Program, c.Version, c.Procedure),
			trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attributes(c.Program, c.Version, c.Procedure)...))
		defer span.End()
		err := next(ctx, c)
		span.SetAttributes(
			attribute.Int64("onc_rpc.xid", int64(c.XID)),
			attribute.Bool("onc_rpc.repeated", c.Repeated))
		if c.Peer != nil {
			span.SetAttributes(attribute.String("network.peer.address", c.Peer.String()))
		}
		ended(span, err)
		return err
	}
}

// Server returns an interceptor that makes a span for the execution of each call. Spans that the
// handler starts from its context are children of it.
func Server(t trace.Tracer) oncrpc.ServerInterceptor {
	return func(ctx context.Context, c *oncrpc.Call, next oncrpc.Handler) error {
		program, procedure, served := c.Names()
		name := program + "/" + procedure
		if !served {
			name = "no such procedure" // clients may send any number, so do not name spans by it
		}
		ctx, span := t.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attributes(c.Program, c.Version, c.Procedure)...),
			trace.WithAttributes(
				attribute.Int64("onc_rpc.xid", int64(c.XID)),
				attribute.String("network.peer.address", c.Conn.RemoteAddr().String())))
		defer span.End()
		err := next(ctx, c)
		ended(span, oncrpc.OutcomeForCaller(err))
		return err
	}
}

// attributes returns the attributes of OpenTelemetry's conventions for ONC RPC.
func attributes(program, version, procedure uint32) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("rpc.system", "onc_rpc"),
		attribute.Int64("onc_rpc.program.number", int64(program)),
		attribute.Int64("onc_rpc.version", int64(version)),
		attribute.Int64("onc_rpc.procedure.number", int64(procedure)),
	}
}

// ended records how a call ended.
func ended(s trace.Span, err error) {
	if err != nil {
		s.RecordError(err)
		s.SetStatus(codes.Error, err.Error())
	}
}
