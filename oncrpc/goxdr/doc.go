// Package goxdr serves and calls RPC programs whose types github.com/buildbarn/go-xdr generates
// from a .x file (RFC 4506 section 6.3, RFC 5531 section 12).
//
// For that compiler, a .x file begins with the name of its Go package:
//
//	package "example.com/notes";
//
// The compiler generates an interface for the server to implement, and a constructor of a
// [Service]. [Procedures] turns that into procedures of an oncrpc.Program:
//
//	srv.Handle(oncrpc.Program{Name: "notes", Number: notes.NOTES_PROGRAM_NUMBER, Version: 1,
//		Procedures: goxdr.Procedures(notes.NewNotesService(impl), 1<<20, "NULL", "PUT", "GET")})
//
// The compiler generates no clients. Call with an oncrpc.Client and [Args] and [Reply], or, for
// types with generated functions instead of methods, [ArgsFunc] and [ReplyFunc]:
//
//	err := client.Do(ctx, &oncrpc.Request{Procedure: 2,
//		Args: goxdr.ArgsFunc(notes.WriteTitle, "title"),
//		Reply: goxdr.ReplyFunc(notes.ReadGetResult, &res), MaxReply: 1 << 20})
//
// The package example is a complete program.
//
// # Bulk data
//
// Generated code reads from an io.Reader and writes to an io.Writer. So opaque data is copied and
// part of the message: RDMA moves a long message as a whole, never a single item. Set
// Request.MaxReply to the maximum length of the results, and leave Request.Results empty. Programs
// that move much data should encode it themselves, with xdr.Encoder.Bulk. Either end understands
// the other: arguments sent as bulk data are fetched before generated code reads them. Only padded
// messages (rpcrdma.Config.Align) cannot be read, because generated code cannot know where the
// padding is.
//
// # Errors
//
// Generated code returns one error for undecodable arguments, an error of the implementation, and
// results that it cannot encode. The caller of a Service gets
//
//   - PROC_UNAVAIL and PROG_MISMATCH, if the generated code says so;
//   - GARBAGE_ARGS for an error with arguments that ended too early or were not read to their end,
//     including those nested too deeply ([ErrTooDeep]);
//   - the answer that package oncrpc defines, if the implementation returns an *oncrpc.AcceptError,
//     an *oncrpc.AuthError or oncrpc.ErrGarbageArgs;
//   - SYSTEM_ERR for any other error, which the server logs. That includes an invalid value in the
//     last argument, such as a boolean of 2, because it looks like an error of the implementation.
package goxdr
