// Package rounds measures several things by turns, so that a machine that slows down for a while
// slows down all of them.
//
// A round measures one thing for a moment. A pass has one round of each thing. A [Schedule] says in
// which order, how often, and until when:
//
//	s := rounds.Schedule{Wanted: []int{40, 40}, Counted: counted, Until: deadline, ...}
//	err := s.Run(func(i int, share time.Duration) error { ... }) // one round of thing i
//
// Package paired runs its pairs in order: yardstick, candidate, yardstick, and so on. Package bench
// runs its points in random order until its time is over. There a yardstick comes right before each
// round, and rounds that other programs disturbed ([Mark]) are repeated.
package rounds
