// Package bench is the command bench, which measures by package bench of this module.
package bench
