// Package cli is what commands share at the terminal: usage errors and exit codes, flags for sizes,
// users and choices, names as they can be printed, tables, the progress bar, signals.
package cli
