//go:build !race

package simulation

// raced reports whether the race detector is on. Then loads are smaller and have one seed each,
// since they take about fifteen times as long.
const raced = false
