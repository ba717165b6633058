//go:build race

package simulation

// raced says that loads are less, of one seed each: under the race detector they take some fifteen
// times as long.
const raced = true
