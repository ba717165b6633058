// Package bench is the command bench: it turns flags into bench.Options, runs the measurement,
// and prints its tables and charts. The measurement itself is package bench of this module.
//
//	root.AddCommand(bench.NewCommand())
//
// "bench serve", which another host runs, is a command below it.
package bench
