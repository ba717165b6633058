// Package report shows the result of a benchmark ([bench.Result]). It writes a table for the
// terminal, CSV and JSON for other programs, and charts as PNG files and in one HTML file that
// loads nothing from elsewhere.
//
// "rpcrdma bench" prints the table, and "rpcrdma bench --out DIR" writes the files:
//
//	err := report.WriteTable(os.Stdout, result)
//	files, err := report.WriteDir("/tmp/bench", result)
//
// docs/json.md describes the JSON, and docs/report.png shows a report.
package report
