//go:build interop

package tshark

import (
	"strings"
	"testing"
)

// flow is what tshark found in one direction of a connection.
type flow struct {
	Startup startup
	Ops     map[opcode]messages

	RPCRDMA, RPC int      // messages of RPC-over-RDMA, and of RPC: whole ones
	Terminates   []string // layer, type and code
	Problems     []string // what tshark complains about

	stream    int  // bytes of TCP
	disorder  bool // some came twice, or not in their order
	startup   int  // bytes of the startup frame
	accounted int  // bytes of startup frames, FPDUs and markers
	longest   int  // bytes of the longest ULPDU
	fpdus     int
	checked   int // FPDUs with a CRC that is right
	unchecked int // FPDUs with zero in its place
	markers   int
	most      int         // markers in an FPDU
	versions  map[int]int // segments by the version of DDP and RDMAP, or by -1 if there are two
}

// startup is the MPA request or reply.
type startup struct {
	Reply            bool
	Revision         int
	Markers, CRC     bool
	Reject, Enhanced bool
}

// opcode is that of RDMAP (RFC 5040 section 4.2).
type opcode int

const (
	opWrite          opcode = 0
	opReadRequest    opcode = 1
	opReadResponse   opcode = 2
	opSend           opcode = 3
	opSendInvalidate opcode = 4
	opTerminate      opcode = 7
)

// messages counts messages of one kind, and their bytes without headers. For a Read Request these
// are the bytes asked for.
type messages struct{ Count, Bytes int }

// Lengths in bytes (RFC 5044 section 4.1 and 7.1.1, RFC 5041 sections 4.2 and 4.3).
const (
	startupLen  = 20 // without private data
	crcLen      = 4
	fpduLen     = 2 + crcLen // with the length of the ULPDU
	taggedLen   = 14
	untaggedLen = 18
)

// decode sorts what tshark found: first the direction from the client, then from the server at
// port.
func decode(t *testing.T, packets []packet, port int) (flows [2]flow) {
	t.Helper()
	for i := range flows {
		flows[i].Ops = make(map[opcode]messages)
		flows[i].versions = make(map[int]int)
	}
	for i := range packets {
		p := &packets[i]
		s := p.segment(t)
		f := &flows[0]
		if s.source == port {
			f = &flows[1]
		}
		if s.length > 0 { // others may be behind a FIN, which counts
			f.disorder = f.disorder || s.sequence-1 != f.stream
			f.stream = max(f.stream, s.sequence-1+s.length)
		}
		f.add(p, s.sequence-1)
	}
	return flows
}

// add adds a packet at a position of the stream. Its protocols are in order, so those of a ULPDU
// follow its FPDU.
func (f *flow) add(p *packet, pos int) {
	ulpdu := 0
	for i := range p.Protos {
		proto := &p.Protos[i]
		switch {
		case proto.Name == "iwarp_mpa" && proto.has("iwarp_mpa.fpdu"):
			ulpdu = f.addFPDU(proto)
			f.addMarkers(proto, pos-f.startup)
		case proto.Name == "iwarp_mpa":
			f.addStartup(proto)
		case proto.Name == "iwarp_ddp_rdmap":
			f.addSegment(proto, ulpdu)
		case proto.Name == "rpcordma":
			f.RPCRDMA++
		case proto.Name == "rpc":
			f.RPC++
		case proto.Name == "_ws.malformed" || proto.Name == "_ws.short" || proto.Name == "_ws.unreassembled":
			f.Problems = append(f.Problems, proto.ShowName)
		}
		// about which its own end of a connection is worth a remark
		if !strings.HasPrefix(proto.Name, "tcp") {
			proto.walk(func(field *field) {
				if field.Name == "_ws.expert" {
					f.Problems = append(f.Problems, field.ShowName)
				}
			})
		}
	}
}

func (f *flow) addStartup(p *proto) {
	const enhanced = 0x10 // S in what is reserved without RFC 6581
	f.Startup = startup{
		Reply:    p.has("iwarp_mpa.rep"),
		Revision: p.number("iwarp_mpa.rev"),
		Markers:  p.number("iwarp_mpa.marker_flag") != 0,
		CRC:      p.number("iwarp_mpa.crc_flag") != 0,
		Reject:   p.number("iwarp_mpa.rej_flag") != 0,
		Enhanced: p.number("iwarp_mpa.res")&enhanced != 0,
	}
	f.startup = startupLen + p.number("iwarp_mpa.pdlength")
	f.accounted += f.startup
}

// addFPDU returns the length of the ULPDU.
func (f *flow) addFPDU(p *proto) int {
	n := p.number("iwarp_mpa.ulpdulength")
	f.fpdus++
	f.longest = max(f.longest, n)
	f.accounted += fpduLen + n + p.bytes("iwarp_mpa.pad")
	p.walk(func(field *field) {
		switch {
		case field.Name == "iwarp_mpa.crc_check" && strings.HasSuffix(field.ShowName, "(Good CRC32)"):
			f.checked++
		case field.Name == "iwarp_mpa.crc" && field.Show == "0x00000000":
			f.unchecked++
		}
	})
	return n
}

func (f *flow) addSegment(p *proto, ulpdu int) {
	version := p.number("iwarp_ddp.dv")
	if version != p.number("iwarp_rdma.version") {
		version = -1
	}
	f.versions[version]++
	op := opcode(p.number("iwarp_rdma.opcode"))
	m := f.Ops[op]
	if p.number("iwarp_ddp.last_flag") != 0 {
		m.Count++
	}
	switch {
	case op == opReadRequest:
		m.Bytes += p.number("iwarp_rdma.rdmardsz")
	case op == opTerminate:
		f.Terminates = append(f.Terminates, terminate(p))
	case p.number("iwarp_ddp.tagged_flag") != 0:
		m.Bytes += ulpdu - taggedLen
	default:
		m.Bytes += ulpdu - untaggedLen
	}
	f.Ops[op] = m
}

// terminate returns layer, type and code of a Terminate message as words.
func terminate(p *proto) string {
	var words []string
	p.walk(func(field *field) {
		if strings.HasPrefix(field.Name, "iwarp_rdma.term_layer") || strings.HasPrefix(field.Name, "iwarp_rdma.term_etype") ||
			strings.HasPrefix(field.Name, "iwarp_rdma.term_errcode") {
			_, what, _ := strings.Cut(field.ShowName, ": ")
			words = append(words, what)
		}
	})
	return strings.Join(words, ", ")
}
