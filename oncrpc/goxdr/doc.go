// Package goxdr serves and calls RPC programs whose types github.com/buildbarn/go-xdr has generated
// from a .x file (RFC 4506 section 6.3, RFC 5531 section 12).
//
// A .x file for that compiler begins with the name of its Go package:
//
//	package "example.com/notes";
//
// From the program in it the compiler makes an interface, which the server implements, and a
// constructor of a [Service]. [Procedures] makes procedures of an oncrpc.Program of that, and an
// oncrpc.Server serves these over every transport:
//
//	srv.Handle(oncrpc.Program{Name: "notes", Number: notes.NOTES_PROGRAM_NUMBER, Version: 1,
//		Procedures: goxdr.Procedures(notes.NewNotesService(impl), 1<<20, "NULL", "PUT", "GET")})
//
// The compiler makes no clients. An oncrpc.Client calls with [Args] and [Reply], or with
// [ArgsFunc] and [ReplyFunc] for types with generated functions in place of methods:
//
//	err := client.Do(ctx, &oncrpc.Request{Procedure: 2,
//		Args: goxdr.ArgsFunc(notes.WriteTitle, "title"),
//		Reply: goxdr.ReplyFunc(notes.ReadGetResult, &res), MaxReply: 1 << 20})
//
// # Bulk data
//
// Generated code reads from an io.Reader and writes to an io.Writer, so opaque data is copied and
// is part of the message: long messages are moved by RDMA as a whole, no item is moved on its own.
// Request.MaxReply is to be as long as the results may be, and Request.Results stays empty.
// Programs that move much data encode it themselves, with xdr.Encoder.Bulk. Either end understands
// the other: arguments that a client sends as bulk data are fetched before generated code reads
// them. Only a message that is padded (rpcrdma.Config.Align) cannot be read: nothing tells
// generated code where its padding is.
//
// # Errors
//
// Generated code has one error for arguments that it cannot decode, for an error of the
// implementation, and for results that it cannot encode. The caller of a Service gets
//
//   - PROC_UNAVAIL and PROG_MISMATCH, if the generated code says so;
//   - GARBAGE_ARGS for an error with arguments that ended too early, or were not read to their end,
//     as those are that are nested too deeply ([ErrTooDeep]);
//   - what an error of the implementation means to package oncrpc, if it is an
//     *oncrpc.AcceptError, an *oncrpc.AuthError or oncrpc.ErrGarbageArgs;
//   - SYSTEM_ERR for any other error, which the server logs. Among these is a last argument of the
//     right length that has no such value, such as a boolean of 2: nothing tells it from an error
//     of the implementation.
package goxdr
