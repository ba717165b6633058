//go:build interop

package tshark

import (
	"encoding/xml"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// packet, proto and field are elements of PDML, tshark's XML output.
type packet struct {
	Protos []proto `xml:"proto"`
}

type proto struct {
	Name     string  `xml:"name,attr"`
	ShowName string  `xml:"showname,attr"`
	Pos      int     `xml:"pos,attr"` // in the packet
	Fields   []field `xml:"field"`
}

type field struct {
	Name     string  `xml:"name,attr"`
	Show     string  `xml:"show,attr"`
	ShowName string  `xml:"showname,attr"`
	Pos      int     `xml:"pos,attr"` // in the packet
	Fields   []field `xml:"field"`
}

// dissect decodes a capture with tshark.
func dissect(t *testing.T, file string) []packet {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "tshark", "-2", "-r", file,
		// Its own reassembly of Sends gets in the way of that of RPC-over-RDMA.
		"-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE",
		// A server's port may be one that tshark knows for another protocol, such as 44818.
		"-o", "tcp.try_heuristic_first:TRUE",
		"-T", "pdml", "-J", "iwarp_mpa iwarp_ddp_rdmap rpcordma", "-Y", "tcp")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.String())
	}
	var doc struct {
		Packets []packet `xml:"packet"`
	}
	if err := xml.Unmarshal(out, &doc); err != nil {
		t.Fatalf("PDML: %v", err)
	}
	return doc.Packets
}

// walk calls f with the fields of a protocol, outer ones first.
func (p *proto) walk(f func(*field)) { walk(p.Fields, f) }

func walk(fields []field, f func(*field)) {
	for i := range fields {
		f(&fields[i])
		walk(fields[i].Fields, f)
	}
}

// has reports whether p has a field.
func (p *proto) has(name string) (found bool) {
	p.walk(func(f *field) { found = found || f.Name == name })
	return found
}

// number returns the value of a field, 0 if there is none.
func (p *proto) number(name string) (n int) {
	p.walk(func(f *field) {
		if f.Name == name {
			v, err := strconv.ParseUint(f.Show, 0, 64)
			if err != nil {
				panic(fmt.Sprintf("field %s is %q", name, f.Show))
			}
			n = int(v)
		}
	})
	return n
}

// bytes returns the length of a field of bytes.
func (p *proto) bytes(name string) (n int) {
	p.walk(func(f *field) {
		if f.Name == name {
			n = len(strings.Split(f.Show, ":"))
		}
	})
	return n
}

// segment is the place of a packet in its TCP connection.
type segment struct {
	source   int // port
	dest     int // likewise
	sequence int // that of the first byte after SYN is 1
	length   int
}

var segmentText = regexp.MustCompile(`Src Port: (\d+), Dst Port: (\d+), .*Seq: (\d+), .*Len: (\d+)$`)

// segment reads it from the TCP fields.
func (p *packet) segment(t *testing.T) segment {
	t.Helper()
	for _, proto := range p.Protos {
		if proto.Name != "tcp" {
			continue
		}
		m := segmentText.FindStringSubmatch(proto.ShowName)
		if m == nil {
			break
		}
		var n [4]int
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1])
		}
		return segment{n[0], n[1], n[2], n[3]}
	}
	t.Fatalf("a packet without TCP: %+v", p)
	return segment{}
}
