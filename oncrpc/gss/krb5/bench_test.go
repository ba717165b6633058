package krb5_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// bulk is the number of bytes that BenchmarkWrap and BenchmarkUnwrap put into a token.
const bulk = 1 << 20

// alone is AES in CBC mode and HMAC on n bytes, with the standard library.
type alone struct {
	enc, dec cipher.BlockMode
	mac      hash.Hash
	b, sum   []byte
}

func newAlone(id enctype.ID, n int) *alone {
	hashes := map[enctype.ID]func() hash.Hash{
		enctype.AES128SHA1: sha1.New, enctype.AES256SHA1: sha1.New,
		enctype.AES128SHA256: sha256.New, enctype.AES256SHA384: sha512.New384,
	}
	key := id.NewKey()
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	iv := make([]byte, aes.BlockSize)
	return &alone{
		cipher.NewCBCEncrypter(block, iv), cipher.NewCBCDecrypter(block, iv), hmac.New(hashes[id], key),
		make([]byte, n), make([]byte, 0, 64),
	}
}

func (a *alone) run(mode cipher.BlockMode) {
	mode.CryptBlocks(a.b, a.b)
	a.mac.Reset()
	a.mac.Write(a.b)
	a.sum = a.mac.Sum(a.sum[:0])
}

// benchmark measures op and alone by turns, and reports the speed of op relative to alone.
func benchmark(b *testing.B, op, alone func()) {
	b.SetBytes(bulk)
	b.ReportAllocs()
	var ours, theirs time.Duration
	op()
	for b.Loop() {
		start := time.Now()
		op()
		middle := time.Now()
		alone()
		ours += middle.Sub(start)
		theirs += time.Since(middle)
	}
	b.ReportMetric(float64(theirs)/float64(ours), "of-alone")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ours-ns/op")
}

func BenchmarkWrap(b *testing.B) {
	for _, id := range enctype.All {
		b.Run(id.String(), func(b *testing.B) {
			client, _ := newRig(id).pair(b)
			text := make([]byte, bulk)
			token := make([]byte, 0, client.WrapLen(bulk))
			msg := [][]byte{text}
			a := newAlone(id, bulk)
			benchmark(b, func() { token, _ = client.AppendWrap(token[:0], msg) }, func() { a.run(a.enc) })
		})
	}
}

func BenchmarkUnwrap(b *testing.B) {
	for _, id := range enctype.All {
		b.Run(id.String(), func(b *testing.B) {
			client, server := newRig(id).pair(b)
			token, err := client.AppendWrap(nil, [][]byte{make([]byte, bulk)})
			if err != nil {
				b.Fatal(err)
			}
			room := make([]byte, len(token))
			a := newAlone(id, bulk)
			benchmark(b, func() {
				copy(room, token)
				if _, err := server.Unwrap(room); err != nil {
					b.Fatal(err)
				}
			}, func() { a.run(a.dec) })
		})
	}
}

// Tokens are made and checked without allocations.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has pools forget what they are given")
	}
	each(t, func(t *testing.T, r *rig) {
		client, server := r.pair(t)
		msg := [][]byte{text, make([]byte, 5000)}
		mic, token := make([]byte, 0, client.MaxMIC()), make([]byte, 0, client.WrapLen(6000))
		for name, op := range map[string]func(){
			"MIC": func() {
				mic, _ = client.AppendMIC(mic[:0], msg)
				if err := server.VerifyMIC(mic, msg); err != nil {
					t.Error(err)
				}
			},
			"Wrap": func() {
				token, _ = client.AppendWrap(token[:0], msg)
				if _, err := server.Unwrap(token); err != nil {
					t.Error(err)
				}
			},
		} {
			if n := testing.AllocsPerRun(200, op); n != 0 {
				t.Errorf("%s: %v allocations", name, n)
			}
		}
	})
}
