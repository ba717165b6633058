// Package bench is the command bench. What it measures with is package bench of this module.
package bench
