// Package remote is what a command does with servers. A [Session] connects to the servers of URLs,
// and finds their exports. [OnFiles] calls a function with each file that the URLs name; if one
// fails, it reports that and goes on.
//
//	var r remote.Session
//	r.AddFlags(cmd)
//	err := remote.OnFiles(cmd, &r, urls, func(w *remote.Work, p remote.Operand) error {
//		_, err := p.Stat(w.Ctx(), true)
//		return err
//	})
package remote
