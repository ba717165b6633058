package bth

import (
	"fmt"
	"time"
)

// Syndrome is the result in an acknowledgement (IBTA section 9.7.5.2.1): success, receiver not
// ready, or an error.
type Syndrome uint8

// Syndromes. An ACK has credits in its lower five bits. An RNR NAK (receiver not ready) has a code
// for the time to wait there.
const (
	ACK               Syndrome = 0x1F // with the code for no credits
	RNR               Syndrome = 0x20
	NAKSequence       Syndrome = 0x60 // a packet is missing
	NAKInvalid        Syndrome = 0x61 // invalid request
	NAKAccess         Syndrome = 0x62 // remote access error
	NAKOperation      Syndrome = 0x63 // remote operational error
	NAKInvalidRD      Syndrome = 0x64 // invalid RD request, of reliable datagrams
	syndromeKind               = 0x60
	syndromeCode               = 0x1F
	syndromeReserved           = 0x80
	syndromeKindNAK            = 0x60
	syndromeKindACKed          = 0x00
)

// IsACK reports success.
func (s Syndrome) IsACK() bool { return s&(syndromeKind|syndromeReserved) == syndromeKindACKed }

// IsRNR reports an RNR NAK: the receiver is not ready.
func (s Syndrome) IsRNR() bool { return s&(syndromeKind|syndromeReserved) == RNR }

// IsNAK reports an error.
func (s Syndrome) IsNAK() bool { return s&(syndromeKind|syndromeReserved) == syndromeKindNAK }

// String names the syndrome.
func (s Syndrome) String() string {
	switch {
	case s.IsACK():
		return "ACK"
	case s.IsRNR():
		return fmt.Sprintf("RNR NAK, %v", s.Wait())
	case s == NAKSequence:
		return "NAK: PSN sequence error"
	case s == NAKInvalid:
		return "NAK: invalid request"
	case s == NAKAccess:
		return "NAK: remote access error"
	case s == NAKOperation:
		return "NAK: remote operational error"
	case s == NAKInvalidRD:
		return "NAK: invalid RD request"
	}
	return fmt.Sprintf("syndrome %#02x", uint8(s))
}

// rnrWaits has the waiting times of RNR NAK codes, in units of 10 microseconds (IBTA table 45).
var rnrWaits = [32]time.Duration{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
	2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// Wait returns how long an RNR NAK asks to wait before the request is sent again.
func (s Syndrome) Wait() time.Duration { return rnrWaits[s&syndromeCode] * 10 * time.Microsecond }

// RNRAfter returns the RNR NAK with the shortest waiting time of at least d, or with the longest.
func RNRAfter(d time.Duration) Syndrome {
	for code := Syndrome(1); code < 32; code++ {
		if (RNR | code).Wait() >= d {
			return RNR | code
		}
	}
	return RNR // the longest
}
