// Package words puts errors into words for people: [Reason] says why something did not work with a
// file, [EndReason] in what a call has ended, and an [Explainer] why a server cannot be connected
// to and what may be done about it.
package words
