package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// mpaStep compares setups of iWARP.
type mpaStep struct {
	*scene
	port *portStep // with the setup by the flags
}

// run sets up connections in several ways, and compares the results.
func (p *mpaStep) run(ctx context.Context) bool {
	if !p.at.OverIWARP() {
		return true
	}
	var other, peer mpaAnswer
	var wg sync.WaitGroup
	wg.Go(func() { other = p.meet(ctx, p.at, oneCRC(!p.asksCRC()), false) })
	wg.Go(func() { peer = p.meet(ctx, p.at, oneCRC(p.asksCRC()), true) })
	wg.Wait()
	usable := p.judgeCRC(other)
	if err := p.port.setup.err; err != nil {
		return usable && p.judgeSetup(err)
	}
	s := p.port.setup.setup
	values, text := describeSetup(s)
	if peer.err == nil && peer.setup.RTR != 0 {
		text += fmt.Sprintf("; peer-to-peer: RTR by %v", peer.setup.RTR)
		values["rtr"] = fmt.Sprint(peer.setup.RTR)
	}
	p.report.ok(values, "%s", text)
	if s.CRC && !p.asksCRC() {
		p.report.add(Finding{Status: Note, Cause: CauseCRC,
			Found: "CRC32C is on, because the server requires it",
			Do: "nothing, if clients can use it; or start the server without it (rpcrdma " +
				"serve: --crc off)"})
	}
	if s.Enhanced && s.PeerORD == 0 {
		return p.report.fail(CauseIRD,
			"the server's ORD is 0: it cannot fetch data by RDMA Read that is too large for one message",
			"no large WRITE will succeed. Raise the ORD of the server's adapter, or "+
				"iwarp.Config.ORD of this library")
	}
	return usable
}

// asksCRC reports whether the flags ask for CRC32C.
func (p *mpaStep) asksCRC() bool {
	f := p.flags.Connections.CRC.Value
	return f == iwarp.CRCOn || f == iwarp.CRCAuto && !(p.loopback && p.at.Scheme == "rdma")
}

// oneCRC returns CRC32C on or off.
func oneCRC(on bool) iwarp.CRC {
	if on {
		return iwarp.CRCOn
	}
	return iwarp.CRCOff
}

// judgeCRC reports if the server accepts only connections with CRC32C, or only those without. other
// is the setup with the choice that the flags do not make.
func (p *mpaStep) judgeCRC(other mpaAnswer) bool {
	plain, crc := p.port.setup, other
	if p.asksCRC() {
		plain, crc = other, p.port.setup
	}
	status := Warn
	if p.port.setup.err != nil {
		status = Fail
	}
	switch {
	case plain.err != nil && crc.err == nil:
		return p.report.add(Finding{Status: status, Cause: CauseCRC,
			Found: "the server refuses connections without CRC32C, but takes them with it",
			Do: "use --crc on here. Linux's siw does not ask for it: for siw, start the server " +
				"without it (rpcrdma serve: --crc auto)"})
	case plain.err == nil && crc.err != nil:
		return p.report.add(Finding{Status: status, Cause: CauseNoCRC,
			Found: "the server refuses connections with CRC32C, but takes them without",
			Do:    "use --crc off here"})
	}
	return true
}

// judgeSetup reports why the setup failed.
func (p *mpaStep) judgeSetup(err error) bool {
	var reject *mpa.RejectError
	cause := CauseRejected
	do := p.explain(p.at, err)
	switch {
	case errors.As(err, &reject) && reject.Enhanced && reject.PeerORD > iwarp.DefaultReads,
		errors.Is(err, mpa.ErrInsufficientIRD):
		cause = CauseIRD
		do = fmt.Sprintf("the server insists on more RDMA Reads under way than the %d that this side "+
			"allows: lower the server's ORD", iwarp.DefaultReads)
	case errors.As(err, &reject) && !reject.Enhanced:
		cause = CauseIRD
		do += ". A setup of revision 1 names no IRD; Linux's NFS server takes this for 0, and " +
			"refuses: use an enhanced setup (revision 2)"
	}
	return p.report.fail(cause, "the setup of iWARP fails: "+words.Bottom(err).Error(), do)
}

// describeSetup describes what the setup agreed on.
func describeSetup(s *mpa.Setup) (map[string]any, string) {
	yes := map[bool]string{true: "on", false: "off"}
	values := map[string]any{
		"revision": s.Revision, "enhanced": s.Enhanced, "crc": s.CRC,
		"markersToServer": s.MarkersOut, "markersFromServer": s.MarkersIn,
		"ird": s.IRD, "ord": s.ORD, "serverIRD": s.PeerIRD, "serverORD": s.PeerORD,
	}
	words := []string{
		fmt.Sprintf("MPA revision %d", s.Revision),
		"CRC " + yes[s.CRC],
		"markers " + yes[s.MarkersOut],
	}
	if s.Enhanced {
		words = append(words, fmt.Sprintf("the server's IRD %d and ORD %d", s.PeerIRD, s.PeerORD))
	} else {
		words = append(words, "no IRD and ORD said")
	}
	text := strings.Join(words, ", ")
	d := s.PrivateData
	if !bytes.HasPrefix(d, privateMagic) || len(d) < 8 {
		values["privateData"] = false
		return values, text + "; no private data of RFC 8797"
	}
	send, recv := (int(d[6])+1)*1024, (int(d[7])+1)*1024
	values["privateData"] = true
	values["serverInlineSend"], values["serverInlineRecv"] = send, recv
	values["remoteInvalidation"] = d[5]&1 != 0
	return values, fmt.Sprintf("%s; private data: inline %d out, %d in, remote invalidation %s",
		text, send, recv, yes[d[5]&1 != 0])
}
