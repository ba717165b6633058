package dirfs

import (
	"encoding/binary"
	"hash/crc32"
)

// hint is a name under which a file was seen. The host may have renamed it since.
type hint struct {
	parent key
	name   string
}

// maxHints bounds the names that are remembered of a file.
const maxHints = 8

// A record has a checksum of what follows, the length of what follows that, the key of a file, and
// its names: for each the key of the directory, the length of the name, and the name. The latest
// record of a file is the one that counts. Without names the file is gone.
const (
	recordHead = 4 + 2
	recordKey  = 8 + 8
	recordMin  = recordHead + recordKey
	recordMax  = recordMin + maxHints*(recordKey+1+MaxName)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends the record of a file to b.
func appendRecord(b []byte, k key, names []hint) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = appendKey(b, k)
	for _, in := range names {
		b = appendKey(b, in.parent)
		b = append(b, byte(len(in.name)))
		b = append(b, in.name...)
	}
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at-recordHead))
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

func appendKey(b []byte, k key) []byte {
	b = binary.LittleEndian.AppendUint64(b, k.ino)
	return binary.LittleEndian.AppendUint64(b, k.gen)
}

func keyAt(b []byte) key {
	return key{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

// recordLen returns the length that the record at the beginning of b claims, or 0 if it cannot be a
// record.
func recordLen(b []byte) int {
	if len(b) < recordHead {
		return 0
	}
	n := recordHead + int(binary.LittleEndian.Uint16(b[4:]))
	if n < recordMin || n > recordMax {
		return 0
	}
	return n
}

// record is a record whose checksum is valid.
type record []byte

// recordAt returns the record at the beginning of b, or nil if there is no complete one.
func recordAt(b []byte) record {
	n := recordLen(b)
	if n == 0 || n > len(b) ||
		binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:n], castagnoli) {
		return nil
	}
	return record(b[:n:n])
}

func (r record) key() key { return keyAt(r[recordHead:]) }

// empty reports whether the file is gone.
func (r record) empty() bool { return len(r) == recordMin }

// names returns the names, as far as they are valid.
func (r record) names() []hint {
	var names []hint
	for b := r[recordMin:]; len(b) > recordKey; {
		n := int(b[recordKey])
		if len(b) < recordKey+1+n || len(names) == maxHints {
			break
		}
		names = append(names, hint{keyAt(b), string(b[recordKey+1:][:n])})
		b = b[recordKey+1+n:]
	}
	return names
}
