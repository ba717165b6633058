package enctype

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The vectors of RFC 8009 appendix A: encryption with key usage 2, and checksums.
func TestRFC8009(t *testing.T) {
	const (
		key128 = "3705d96080c17728a0e800eab6e0d23c"
		key256 = "6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52"
	)
	for _, v := range []struct {
		id                          ID
		key, confounder, plain, out string
	}{
		{AES128SHA256, key128, "7e5895eaf2672435bad817f545a37148", "",
			"ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718"},
		{AES128SHA256, key128, "7bca285e2fd4130fb55b1a5c83bc5b24", "000102030405",
			"84d7f30754ed987bab0bf3506beb09cfb55402cef7e6877ce99e247e52d16ed4421dfdf8976c"},
		{AES128SHA256, key128, "56ab21713ff62c0a1457200f6fa9948f", "000102030405060708090a0b0c0d0e0f",
			"3517d640f50ddc8ad3628722b3569d2ae07493fa8263254080ea65c1008e8fc295fb4852e7d83e1e7c48c37eebe6b0d3"},
		{AES128SHA256, key128, "a7a4e29a4728ce10664fb64e49ad3fac",
			"000102030405060708090a0b0c0d0e0f1011121314",
			"720f73b18d9859cd6ccb4346115cd336c70f58edc0c4437c5573544c31c813bce1e6d072c186b39a413c2f92ca9b8334a287ffcbfc"},
		{AES256SHA384, key256, "f764e9fa15c276478b2c7d0c4e5f58e4", "",
			"41f53fa5bfe7026d91faf9be959195a058707273a96a40f0a01960621ac612748b9bbfbe7eb4ce3c"},
		{AES256SHA384, key256, "b80d3251c1f6471494256ffe712d0b9a", "000102030405",
			"4ed7b37c2bcac8f74f23c1cf07e62bc7b75fb3f637b9f559c7f664f69eab7b6092237526ea0d1f61cb20d69d10f2"},
		{AES256SHA384, key256, "53bf8a0d105265d4e276428624ce5e63", "000102030405060708090a0b0c0d0e0f",
			"bc47ffec7998eb91e8115cf8d19dac4bbbe2e163e87dd37f49beca92027764f68cf51f14d798c2273f35df574d1f932e40c4ff255b36a266"},
		{AES256SHA384, key256, "763e65367e864f02f55153c7e3b58af1",
			"000102030405060708090a0b0c0d0e0f1011121314",
			"40013e2df58e8751957d2878bcd2d6fe101ccfd556cb1eae79db3c3ee86429f2b2a602ac86fef6ecb647d6295fae077a1feb517508d2c16b4192e01f62"},
	} {
		c, err := NewCipher(v.id, unhex(t, v.key), 2)
		if err != nil {
			t.Fatal(err)
		}
		b := append(unhex(t, v.confounder+v.plain), make([]byte, v.id.macLen())...)
		c.seal(b)
		if want := unhex(t, v.out); !bytes.Equal(b, want) {
			t.Errorf("%v of %s: got %x, want %x", v.id, v.plain, b, want)
		}
		if plain, err := c.Open(b); err != nil || hex.EncodeToString(plain) != v.plain {
			t.Errorf("%v: got %x, %v, want %s", v.id, plain, err, v.plain)
		}
	}
	for _, v := range []struct {
		id       ID
		key, sum string
	}{
		{AES128SHA256, key128, "d78367186643d67b411cba9139fc1dee"},
		{AES256SHA384, key256, "45ee791567eefca37f4ac1e0222de80d43c3bfa06699672a"},
	} {
		c, err := NewChecksum(v.id, unhex(t, v.key), 2)
		if err != nil {
			t.Fatal(err)
		}
		msg := [][]byte{unhex(t, "000102030405060708090a0b0c0d0e0f"), unhex(t, "1011")}
		got := c.Append([]byte("before"), msg, unhex(t, "121314"))
		if want := "before" + string(unhex(t, v.sum)); string(got) != want {
			t.Errorf("%v: checksum %x, want %x", v.id, got, want)
		}
	}
}

func (id ID) macLen() int { return profiles[id].macLen }

// The ciphertexts of RFC 3962 appendix B, which cover only the cipher.
func TestRFC3962(t *testing.T) {
	const plain = "4920776f756c64206c696b65207468652047656e6572616c20476175277320436869636b656e2c20706c656173652c20616e6420776f6e746f6e20736f75702e"
	key := []byte("chicken teriyaki")
	for _, v := range []struct {
		n   int
		out string
	}{
		{17, "c6353568f2bf8cb4d8a580362da7ff7f97"},
		{31, "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5"},
		{32, "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584"},
		{47, "97687268d6ecccc0c07b25e25ecfe584b3fffd940c16a18c1b5549d2f838029e39312523a78662d5be7fcbcc98ebf5"},
		{48, "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8"},
		{64, "97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a84807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8"},
	} {
		c := withKey(t, key)
		b := append(unhex(t, plain)[:v.n], make([]byte, c.p.macLen)...)
		c.seal(b)
		if got := hex.EncodeToString(b[:v.n]); got != v.out {
			t.Errorf("%d bytes: got %s, want %s", v.n, got, v.out)
		}
		got, err := c.Open(b)
		if err != nil || !bytes.Equal(got, unhex(t, plain)[ConfounderLen:v.n]) {
			t.Errorf("%d bytes: decrypted %x, %v", v.n, got, err)
		}
	}
}

// gokrb5 decrypts what this package encrypts and vice versa, at all lengths around blocks and
// batches, with reused states.
func TestAsGokrb5(t *testing.T) {
	for _, id := range All {
		e, err := crypto.GetEtype(int32(id))
		if err != nil {
			t.Fatal(err)
		}
		key := id.NewKey()
		c, err := NewCipher(id, key, 22)
		if err != nil {
			t.Fatal(err)
		}
		lengths := []int{batch - 17, batch - 16, batch - 1, batch, batch + 1, batch + 16, 2*batch - 16, 3*batch + 5}
		for n := range 70 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			plain := make([]byte, n)
			rand.Read(plain)
			b := append(make([]byte, ConfounderLen), plain...)
			b = append(b, make([]byte, c.p.macLen)...)
			c.Seal(b)
			if got, err := e.DecryptMessage(key, bytes.Clone(b), 22); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("%v, %d bytes: gokrb5 does not decrypt them: %v", id, n, err)
			}
			_, theirs, err := e.EncryptMessage(key, plain, 22)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Open(theirs); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("%v, %d bytes of gokrb5's: %v", id, n, err)
			}
		}
	}
}

// A changed or truncated ciphertext is refused.
func TestDamaged(t *testing.T) {
	for _, id := range All {
		c, err := NewCipher(id, id.NewKey(), 22)
		if err != nil {
			t.Fatal(err)
		}
		sealed := make([]byte, c.Overhead()+37)
		c.Seal(sealed)
		for i := range sealed {
			b := bytes.Clone(sealed)
			b[i] ^= 1 << (i % 8)
			if _, err := c.Open(b); !errors.Is(err, ErrIntegrity) {
				t.Fatalf("%v, byte %d changed: %v", id, i, err)
			}
			if _, err := c.Open(bytes.Clone(sealed[:i])); err == nil {
				t.Fatalf("%v, cut to %d bytes: no error", id, i)
			}
		}
		if _, err := c.Open(sealed); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeys(t *testing.T) {
	if _, err := NewCipher(23, make([]byte, 16), 1); err == nil {
		t.Error("there is a cipher of RC4")
	}
	if _, err := NewCipher(AES256SHA1, make([]byte, 16), 1); err == nil {
		t.Error("there is a cipher with a key that is too short")
	}
	if _, err := NewChecksum(AES256SHA384, make([]byte, 24), 1); err == nil {
		t.Error("there is a checksum with a key that is too short")
	}
}

func ExampleID_String() {
	fmt.Println(AES256SHA384, ID(23), ID(99))
	// Output: aes256-cts-hmac-sha384-192 arcfour-hmac encryption type 99
}
