package capture

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pcap encodes a file of frames.
func pcap(frames ...string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, pcapMagic)
	b = append(b, make([]byte, 16)...)
	b = binary.LittleEndian.AppendUint32(b, pcapEthernet)
	for _, f := range frames {
		b = append(b, make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	return b
}

func TestParsePcap(t *testing.T) {
	got, err := parsePcap(pcap("one", "", "three"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]byte{[]byte("one"), {}, []byte("three")}, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

func TestParsePcapFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		at    int
		value byte
	}{
		{"magic", 0, 0xd5},
		{"link type", 20, 101},
		{"frame beyond the file", pcapHeaderLen + 8, 9},
		{"frame cut off", pcapHeaderLen + 12, 9},
	} {
		b := pcap("frame")
		b[tt.at] = tt.value
		if _, err := parsePcap(b); err == nil {
			t.Errorf("%s: got no error", tt.name)
		}
	}
	whole := pcap("frame")
	for n := range len(whole) {
		if _, err := parsePcap(whole[:n]); err == nil && n != pcapHeaderLen {
			t.Errorf("the first %d bytes: got no error", n)
		}
	}
}
