package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// conf asks a server and prints what it answers.
func conf(ctx context.Context, flags *confFlags, t reach.Target, out io.Writer) error {
	limited, cancel := context.WithTimeout(ctx, reach.DialTime)
	defer cancel()
	at, err := t.Found(limited, flags.rdma(), rpcrdma.Config{Logger: reach.Quiet})
	var a *confAnswer
	if err == nil {
		a, err = ask(limited, flags, at)
	}
	switch {
	case err == nil && flags.json:
		return a.writeJSON(out)
	case err == nil:
		return a.write(out)
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	}
	return explainConf(t, at, err)
}

// confAnswer is the answer of a server.
type confAnswer struct {
	base     string // of the URL
	tried    []uint32
	program  uint32 // which answered; 0: none
	private  bool   // the server sends private data of RFC 8797
	asked    confproto.Request
	reply    confproto.Reply
	was, now rpcrdma.Settings
}

// rdma returns how to connect over RDMA.
func (f *confFlags) rdma() reach.RDMAConfig {
	return reach.RDMAConfig{Log: reach.Quiet, CRC: f.crc.Value}
}

// ask calls the programs, over one connection, until one of them exists.
func ask(ctx context.Context, flags *confFlags, t reach.Target) (*confAnswer, error) {
	cred, err := flags.Cred()
	if err != nil {
		return nil, err
	}
	server := remote.Server{Flags: &remote.Flags{Identity: flags.Identity}, Target: t, Cred: cred}
	flavor, err := server.ConfFlavor()
	if err != nil {
		return nil, err
	}
	d, err := t.Dialer(reach.TraceOf(ctx), flags.rdma())
	if err != nil {
		return nil, err
	}
	conn, err := rpcrdma.Dial(ctx, d, t.Addr(), rpcrdma.Config{
		Logger:     reach.Quiet,
		Dialect:    rpcrdma.Draft, // only in this dialect the alignment comes into force
		InlineSend: int(flags.call),
		InlineRecv: int(flags.reply),
	})
	if err != nil {
		return nil, err
	}
	defer reach.End(conn)
	defer server.Forget(ctx, conn)
	a := &confAnswer{base: t.Base(), tried: flags.programs.Value, was: conn.Settings()}
	a.private = bytes.HasPrefix(conn.Info().PrivateData, privateMagic)
	a.asked = confproto.Request{MaxCallSendSize: uint32(flags.call), MaxReplySendSize: uint32(flags.reply),
		MaxRDMARead: uint32(a.was.PeerReads)}
	for _, p := range a.tried {
		a.reply, err = confproto.Configure(ctx, conn,
			confproto.Options{Program: p, MaxCall: int(flags.call), MaxReply: int(flags.reply), Flavor: flavor})
		if err == nil {
			a.program, a.now = p, conn.Settings()
			break
		}
		if !errors.Is(err, confproto.ErrUnavailable) {
			return nil, err
		}
	}
	return a, nil
}

// privateMagic begins the private data of RFC 8797 (section 4).
var privateMagic = []byte{0xf6, 0xab, 0x0e, 0x18}

// write prints it.
func (a *confAnswer) write(out io.Writer) error {
	var b strings.Builder
	if a.program == 0 {
		var tried []string
		for _, p := range a.tried {
			tried = append(tried, strconv.FormatUint(uint64(p), 10))
		}
		fmt.Fprintf(&b, "%s has no CONF_RDMA: no program %s\n", a.base, strings.Join(tried, ", nor "))
	} else {
		fmt.Fprintf(&b, "%s answers CONF_RDMA as program %d\n", a.base, a.program)
	}
	if a.private {
		b.WriteString("at setup it sends private data of RFC 8797\n\n")
	} else {
		b.WriteString("at setup it sends no private data of RFC 8797\n\n")
	}
	if err := a.table().Write(&b); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// table returns the numbers as a table.
func (a *confAnswer) table() cli.Table {
	n := strconv.Itoa
	u := func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
	t := cli.Table{
		{"", "setup", "asked", "answered", "in force"},
		{"largest call", n(a.was.MaxSend), u(a.asked.MaxCallSendSize), u(a.reply.MaxCallSendSize), n(a.now.MaxSend)},
		{"largest reply", n(a.was.MaxRecv), u(a.asked.MaxReplySendSize), "-", n(a.now.MaxRecv)},
		{"reads at server", n(a.was.Reads), "-", u(a.reply.MaxRDMARead), n(a.now.Reads)},
		{"reads at client", n(a.was.PeerReads), u(a.asked.MaxRDMARead), "-", n(a.now.PeerReads)},
		{"alignment", "-", "-", u(a.reply.Align), n(a.now.PeerAlign)},
	}
	if a.program == 0 { // only the setup has numbers
		t = t[:len(t)-1]
		for i := range t {
			t[i] = t[i][:2]
		}
	}
	return t
}

// explainConf adds to an error what to do about it. at is the URL, with the port if that was found.
func explainConf(url, at reach.Target, err error) error {
	var (
		denied *oncrpc.AuthError
		call   *oncrpc.CallError
	)
	switch {
	case errors.As(err, &denied):
		do := "--conf of rpcrdma serve says who may use it"
		if denied.Stat == oncrpc.AuthTooWeak && url.Sec == 0 {
			do += ": try ?sec=krb5"
		}
		return fmt.Errorf("the server at port %s has CONF_RDMA, but denies it to this caller: %v; %s",
			at.Addr(), denied.Stat, do)
	case errors.As(err, &call) && (call.Program == confproto.Program || call.Program == confproto.ProgramRFC5666):
		// not a call to rpcbind
		return fmt.Errorf("port %s speaks RPC over RDMA, but CONF_RDMA fails there: %s", at.Addr(),
			words.EndReason(call))
	}
	return words.Explainer{Asked: url.Rpcbind != 0, RDMAOnly: true}.Explain(at, err)
}
