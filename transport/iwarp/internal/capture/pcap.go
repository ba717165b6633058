package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The format of libpcap, as written on a little-endian machine with microseconds.
const (
	pcapMagic     = 0xa1b2c3d4
	pcapHeaderLen = 24
	pcapRecordLen = 16
	pcapEthernet  = 1
)

// parsePcap returns the frames of a file.
func parsePcap(file []byte) ([][]byte, error) {
	if len(file) < pcapHeaderLen || binary.LittleEndian.Uint32(file) != pcapMagic {
		return nil, errors.New("not a pcap file")
	}
	if link := binary.LittleEndian.Uint32(file[20:]); link != pcapEthernet {
		return nil, fmt.Errorf("link type %d, not Ethernet", link)
	}
	var frames [][]byte
	for rest := file[pcapHeaderLen:]; len(rest) > 0; {
		if len(rest) < pcapRecordLen {
			return nil, errors.New("file ends inside a record header")
		}
		n, onWire := binary.LittleEndian.Uint32(rest[8:]), binary.LittleEndian.Uint32(rest[12:])
		if rest = rest[pcapRecordLen:]; int(n) > len(rest) {
			return nil, errors.New("file ends inside a frame")
		}
		if n < onWire {
			return nil, fmt.Errorf("frame cut off: %d bytes of %d", n, onWire)
		}
		frames = append(frames, rest[:n:n])
		rest = rest[n:]
	}
	return frames, nil
}
