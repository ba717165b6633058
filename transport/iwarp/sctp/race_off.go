//go:build !race

package sctp

func noteSent()     {}
func noteReceived() {}
