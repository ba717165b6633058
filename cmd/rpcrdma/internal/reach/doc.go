// Package reach is how a URL leads to a server: a [Target] is what a URL names, Found asks rpcbind
// for its port, and Dialer returns how it is connected to, over each provider. Traces and the files
// of TLS belong to that.
package reach
