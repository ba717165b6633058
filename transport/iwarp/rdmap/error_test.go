package rdmap

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

func TestError(t *testing.T) {
	write := ddp.Header{Tagged: true, Version: ddp.Version, Control: Control(ddp.Version, OpWrite), STag: 0x1234, Offset: 0x5000}
	invalidate := ddp.Header{Version: ddp.Version, Control: Control(ddp.Version, OpSendInvalidate), ULP: 0x1234, MSN: 7, MO: 100}
	read := ddp.Header{Version: ddp.Version, Control: Control(ddp.Version, OpReadRequest), Queue: ddp.QueueReadRequest, MSN: 3}
	request := ReadRequest{Len: 4096, SourceSTag: 0x99, SourceOffset: 0x10}
	for _, tt := range []struct {
		name   string
		in     Terminate
		remote bool
		want   string
		cause  error
	}{
		{
			name: "bare", in: Terminate{Code: TaggedSTag}, remote: true,
			want:  "peer terminated: DDP tagged buffer error: invalid STag",
			cause: transport.ErrSTag,
		},
		{
			name: "ours", in: Terminate{Code: MPACRC},
			want: "terminated: MPA error: CRC mismatch",
		},
		{
			name: "write", in: TerminateForSegment(TaggedBounds, write.Append(nil)),
			want:  "terminated: DDP tagged buffer error: base or bounds violation (RDMA Write to STag 0x1234, offset 0x5000)",
			cause: transport.ErrBounds,
		},
		{
			name: "send", in: TerminateForSegment(ProtectionInvalidate, invalidate.Append(nil)), remote: true,
			want: "peer terminated: RDMAP remote protection error: STag cannot be invalidated " +
				"(Send with Invalidate, queue 0, message 7, offset 100, of STag 0x1234)",
			cause: transport.ErrAccess,
		},
		{
			name: "read", in: TerminateForSegment(ProtectionSTag, request.Append(read.Append(nil))),
			want: "terminated: RDMAP remote protection error: invalid STag " +
				"(RDMA Read Request, queue 1, message 3, offset 0, of 4096 bytes from STag 0x99, offset 0x10)",
			cause: transport.ErrSTag,
		},
		{
			name: "read too many", in: TerminateForSegment(UntaggedNoBuffer, request.Append(read.Append(nil))), remote: true,
			want: "peer terminated: DDP untagged buffer error: no buffer for the message " +
				"(RDMA Read Request, queue 1, message 3, offset 0, of 4096 bytes from STag 0x99, offset 0x10)",
			cause: transport.ErrTooManyReads,
		},
		{
			name: "send too many", in: TerminateForSegment(UntaggedNoBuffer, invalidate.Append(nil)),
			want: "terminated: DDP untagged buffer error: no buffer for the message " +
				"(Send with Invalidate, queue 0, message 7, offset 100, of STag 0x1234)",
			cause: transport.ErrNoReceive,
		},
		{
			name: "too many of nobody knows what", in: Terminate{Code: UntaggedNoBuffer},
			want:  "terminated: DDP untagged buffer error: no buffer for the message",
			cause: transport.ErrNoReceive,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.in.Err(tt.remote)
			if got := err.Error(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if got := errors.Unwrap(err); !errors.Is(got, tt.cause) {
				t.Errorf("cause: got %v, want %v", got, tt.cause)
			}
			if got := errors.Is(err, transport.ErrTerminated); got != tt.remote {
				t.Errorf("is ErrTerminated: got %v, want %v", got, tt.remote)
			}
		})
	}
}
