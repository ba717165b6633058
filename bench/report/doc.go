// Package report shows the result of a benchmark: as a table for the terminal, as CSV and JSON for
// other programs, and as charts, in PNG files and in one HTML file that refers to nothing outside
// it.
package report
