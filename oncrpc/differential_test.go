package oncrpc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"unicode"

	"github.com/buildbarn/go-xdr/pkg/protocols/rpcv2"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FuzzMessages compares message headers with the types that buildbarn/go-xdr generated from RFC
// 5531. Both must accept the same bytes and decode the same values, with the exceptions below.
func FuzzMessages(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, wire []byte) {
		if len(wire) > 1<<12 {
			return
		}
		var theirs rpcv2.RpcMsg
		n, theirErr := theirs.ReadFrom(bytes.NewReader(wire))
		d := xdr.NewDecoder(wire)
		if len(wire) >= 8 && binary.BigEndian.Uint32(wire[4:]) == uint32(oncrpc.MsgReply) {
			ourErr := oncrpc.DecodeReply(d)
			if theirErr == nil {
				compareReply(t, wire, theirs.Body.(*rpcv2.RpcMsgBody_REPLY).Rbody, ourErr, d)
			} else if !errors.Is(ourErr, oncrpc.ErrMalformedReply) {
				t.Errorf("%x: we say %v, they say %v", wire, ourErr, theirErr)
			}
			return
		}
		var ours oncrpc.CallHeader
		ourErr := ours.Decode(d)
		var version *oncrpc.VersionError
		if errors.As(ourErr, &version) {
			// Bytes after another RPC version are not ours to read.
			if ours.RPCVersion == oncrpc.Version {
				t.Errorf("%x: %v", wire, ourErr)
			}
			return
		}
		if (ourErr == nil) != (theirErr == nil) {
			t.Fatalf("%x: we say %v, they say %v", wire, ourErr, theirErr)
		}
		if ourErr != nil {
			return
		}
		if d.Position() != int(n) {
			t.Errorf("%x: we read %d bytes, they %d", wire, d.Position(), n)
		}
		compareCall(t, &ours, &theirs)
	})
}

func compareCall(t *testing.T, ours *oncrpc.CallHeader, theirs *rpcv2.RpcMsg) {
	b := theirs.Body.(*rpcv2.RpcMsgBody_CALL).Cbody
	if ours.XID != theirs.Xid || ours.RPCVersion != b.Rpcvers || ours.Program != b.Prog || ours.Version != b.Vers ||
		ours.Procedure != b.Proc || !sameAuth(ours.Cred, b.Cred) || !sameAuth(ours.Verf, b.Verf) {
		t.Errorf("we see %+v, they %+v", ours, b)
	}
	var buf bytes.Buffer
	if _, err := theirs.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	if got := encodeHeader(ours); !bytes.Equal(got, buf.Bytes()) {
		t.Errorf("we encode %x, they %x", got, buf.Bytes())
	}
	var sys rpcv2.AuthsysParms
	_, theirErr := sys.ReadFrom(bytes.NewReader(ours.Cred.Body))
	var c oncrpc.SysCred
	ourErr := c.Decode(ours.Cred.Body)
	switch {
	case ourErr == nil && theirErr == nil:
		if c.Stamp != sys.Stamp || c.UID != sys.Uid || c.GID != sys.Gid || !slices.Equal(c.GIDs, sys.Gids) {
			t.Errorf("%x: we see %+v, they %+v", ours.Cred.Body, c, sys)
		}
	case theirErr == nil:
		// The other codec ignores bytes after the credential.
		if !errors.Is(ourErr, xdr.ErrTrailing) {
			t.Errorf("%x: we say %v", ours.Cred.Body, ourErr)
		}
	case ourErr == nil:
		// The other codec accepts only ASCII machine names.
		if !slices.ContainsFunc(ours.Cred.Body, func(b byte) bool { return b > unicode.MaxASCII }) {
			t.Errorf("%x: they say %v", ours.Cred.Body, theirErr)
		}
	}
}

func compareReply(t *testing.T, wire []byte, body rpcv2.ReplyBody, ourErr error, d *xdr.Decoder) {
	if errors.Is(ourErr, xdr.ErrTrailing) {
		return // the other codec ignores bytes after an error
	}
	var (
		accept  *oncrpc.AcceptError
		auth    *oncrpc.AuthError
		version *oncrpc.VersionError
		same    bool
	)
	switch b := body.(type) {
	case *rpcv2.ReplyBody_MSG_ACCEPTED:
		switch r := b.Areply.ReplyData.(type) {
		case *rpcv2.AcceptedReplyData_SUCCESS:
			same = ourErr == nil && d.Position() == b.GetEncodedSizeBytes()+8
		case *rpcv2.AcceptedReplyData_PROG_MISMATCH:
			same = errors.As(ourErr, &accept) && accept.Stat == oncrpc.ProgMismatch &&
				accept.Low == r.MismatchInfo.Low && accept.High == r.MismatchInfo.High
		case *rpcv2.AcceptedReplyData_default:
			// Only our codec rejects an accept_stat unknown to RFC 5531.
			unknown := uint32(r.Stat) > uint32(oncrpc.SystemErr)
			same = unknown && errors.Is(ourErr, xdr.ErrValue) ||
				!unknown && errors.As(ourErr, &accept) && uint32(accept.Stat) == uint32(r.Stat)
		}
	case *rpcv2.ReplyBody_MSG_DENIED:
		switch r := b.Rreply.(type) {
		case *rpcv2.RejectedReply_RPC_MISMATCH:
			same = errors.As(ourErr, &version) && version.Low == r.MismatchInfo.Low && version.High == r.MismatchInfo.High
		case *rpcv2.RejectedReply_AUTH_ERROR:
			same = errors.As(ourErr, &auth) && uint32(auth.Stat) == uint32(r.Stat)
		}
	}
	if !same {
		t.Errorf("%x: we say %v, they see %+v", wire, ourErr, body)
	}
}

func sameAuth(ours oncrpc.Auth, theirs rpcv2.OpaqueAuth) bool {
	return uint32(ours.Flavor) == uint32(theirs.Flavor) && bytes.Equal(ours.Body, theirs.Body)
}

// The other codec decodes our server's answers.
func FuzzAnswers(f *testing.F) {
	for i := range answering {
		f.Add(uint32(i+1), uint32(7))
	}
	f.Add(uint32(0), uint32(1))
	f.Fuzz(func(t *testing.T, procedure, arg uint32) {
		var procs []oncrpc.Procedure
		for _, a := range answering {
			procs = append(procs, oncrpc.Procedure{Handler: a.handle, NonBlocking: true})
		}
		s := newServer(t, oncrpc.ServerConfig{}, procs...)
		reply := dispatch(t, s, callBytes(9, procedure, arg))
		var theirs rpcv2.RpcMsg
		if _, err := theirs.ReadFrom(bytes.NewReader(reply)); err != nil {
			t.Fatalf("%x: %v", reply, err)
		}
		body, ok := theirs.Body.(*rpcv2.RpcMsgBody_REPLY)
		if !ok || theirs.Xid != 9 {
			t.Fatalf("%x: %+v", reply, theirs)
		}
		d := xdr.NewDecoder(reply)
		compareReply(t, reply, body.Rbody, oncrpc.DecodeReply(d), d)
	})
}
