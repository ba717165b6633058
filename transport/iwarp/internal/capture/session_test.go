package capture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

// The lengths and digests are those of tshark's "follow,tcp,raw".
func TestLoad(t *testing.T) {
	type stream struct {
		len    int
		sha256 string
	}
	for _, tt := range []struct {
		name                 string
		initiator, responder stream
		chunks               int
	}{
		{
			name:      Stock,
			initiator: stream{214080, "a843233798c998d661c8c923bf8084ea65c176c2759a1839223872670df397fe"},
			responder: stream{545652, "e2892959d8c7749c2550606b23b85db997887b197744386a8deb7a093002a420"},
			chunks:    1003,
		},
		{
			name:      CRC,
			initiator: stream{214080, "7bdbf7ffad6a8f5e6450f091eec2ad8e478116266c3600193d1e932598db7086"},
			responder: stream{545652, "2dc6509fe94b94dbf7d35299be3e971bb440fe0aabdc0d417036c9f5b663795b"},
			chunks:    931,
		},
		{
			name:      P2P,
			initiator: stream{214100, "c89d19bd823e744a1247ec53505d40b8243241c339387342dc992a01d8cd4182"},
			responder: stream{545652, "2302aa762ef5c150ffd0764b4118deb4e153b9da801c0061de97cf1bb2b23dd7"},
			chunks:    874,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Load(t, tt.name)
			for _, side := range []struct {
				name string
				got  []byte
				want stream
			}{{"initiator", s.Initiator, tt.initiator}, {"responder", s.Responder, tt.responder}} {
				sum := sha256.Sum256(side.got)
				if got := (stream{len(side.got), hex.EncodeToString(sum[:])}); got != side.want {
					t.Errorf("%s: got %v, want %v", side.name, got, side.want)
				}
			}
			if got := len(s.Chunks); got != tt.chunks {
				t.Errorf("got %d chunks, want %d", got, tt.chunks)
			}
		})
	}
}

func TestChunksAreTheStreams(t *testing.T) {
	for _, name := range Names() {
		s := Load(t, name)
		var initiator, responder []byte
		for i, c := range s.Chunks {
			if len(c.Bytes) == 0 {
				t.Errorf("%s: chunk %d is empty", name, i)
			}
			if c.FromInitiator {
				initiator = append(initiator, c.Bytes...)
			} else {
				responder = append(responder, c.Bytes...)
			}
		}
		if !bytes.Equal(initiator, s.Initiator) || !bytes.Equal(responder, s.Responder) {
			t.Errorf("%s: the chunks do not add up to the streams", name)
		}
		if !s.Chunks[0].FromInitiator || s.Chunks[1].FromInitiator {
			t.Errorf("%s: does not begin with a request and a reply", name)
		}
	}
}

func TestLoadUnknown(t *testing.T) {
	if _, err := load("no such capture"); err == nil {
		t.Error("got no error")
	}
}
