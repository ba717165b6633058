// Package words explains errors to people.
//
//	words.Reason(err)    // why something failed with a file: "permission denied"
//	words.EndReason(err) // why a call failed: "the server does not answer"
//	words.Explainer{}.Explain(target, err) // why there is no connection, and what to do
package words
