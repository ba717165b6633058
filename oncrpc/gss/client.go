package gss

// ClientConfig configures a ClientFlavor.
type ClientConfig struct {
	// Initiator makes the contexts.
	Initiator Initiator
	// Target is the service that is called, "nfs@server.example.org" (RFC 2743 section 4.1).
	Target string
	// Service is what is protected; 0 means None.
	Service Service
}
