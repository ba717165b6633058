package dirfs

import (
	"encoding/binary"
	"hash/crc32"
)

// record is what a record of the log says.
type record byte

// The records: of the file, or of its name.
const (
	recordName   record = 1 // it was seen by the name
	recordNoName record = 2 // the name is not its own any more
	recordGone   record = 3
)

// Each record has a checksum of what follows, the length of what follows, and then: what it
// says, the key of the file, the key of the directory, and the name.
const (
	recordHead = 4 + 2
	recordKeys = 1 + 4*8
	recordMax  = recordKeys + 255
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends a record to b.
func appendRecord(b []byte, r record, k key, in hint) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = append(b, byte(r))
	for _, v := range [...]uint64{k.ino, k.gen, in.parent.ino, in.parent.gen} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, in.name...)
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at-recordHead))
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// parseRecord returns the first record of b and its length, 0 if b does not begin with a whole one.
func parseRecord(b []byte) (r record, k key, in hint, n int) {
	if len(b) < recordHead+recordKeys {
		return
	}
	n = recordHead + int(binary.LittleEndian.Uint16(b[4:]))
	if n < recordHead+recordKeys || n > recordHead+recordMax || n > len(b) ||
		binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:n], castagnoli) {
		return 0, key{}, hint{}, 0
	}
	b = b[recordHead:n]
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }
	return record(b[0]), key{u(0), u(1)}, hint{key{u(2), u(3)}, string(b[recordKeys:])}, n
}
