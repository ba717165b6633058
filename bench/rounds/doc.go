// Package rounds has things measured by turns, so that what slows the machine down for a while
// slows down all of them.
//
// A round is one measurement of one thing, for a moment. A pass has a round of each thing. A
// Schedule says in which order, how often, and until when. Pairs take turns in order: the
// yardstick, the candidate, the yardstick, and so on. A sweep has random order and a bound on the
// time, each of its rounds has a yardstick right before it, and rounds that were disturbed are
// taken again (Mark).
package rounds
