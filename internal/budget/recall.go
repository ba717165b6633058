package budget

// Some of what a connection has may be taken back early, such as the memory of a reply that its
// peer takes long to read: it is lent. While a host waits for memory, what others have been lent is
// recalled, one thing at a time, until the host's request fits. The host with the most goes first.
// A host that has some itself gets nothing from those that have no more than it would have then.
// Nothing is recalled if even all of it could not suffice.

// Recalls sets the function that takes back the oldest thing that the connection has been lent, and
// notes that by Lend. It runs on a goroutine of its own. Call Recalls before Lend.
func (s *Share[T]) Recalls(recall func()) { s.recall = recall }

// Lend notes that the connection has been lent n more things, or fewer if n is negative.
func (s *Share[T]) Lend(n int) {
	h, b := s.host, s.host.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	s.lent += n
	switch {
	case s.lent == 0:
		if h.lenders.Remove(&s.lending); h.lenders.First() == nil {
			b.lending.Remove(&h.lending)
		}
	case s.lent == n: // the first
		b.loans++
		s.loan = b.loans
		if h.lenders.First() == nil {
			b.lending.Push(&h.lending, h)
		}
		h.lenders.Push(&s.lending, s)
	}
	b.seek()
}

// seek begins to recall something, if somebody waits for it. b.mu is held.
func (b *Budget[T]) seek() {
	if b.recalling {
		return
	}
	if s := b.debtor(); s != nil {
		b.recalling = true
		go b.takeBack(s)
	}
}

// takeBack recalls one thing, and goes on with the next.
func (b *Budget[T]) takeBack(s *Share[T]) {
	defer func() { // even if what has waited, and now goes on, ends the goroutine
		b.mu.Lock()
		defer b.mu.Unlock()
		b.recalling = false
		b.seek()
	}()
	s.recall()
}

// debtor returns the connection that is to give something back, or nil. b.mu is held.
func (b *Budget[T]) debtor() *Share[T] {
	first := b.starved.First()
	if first == nil {
		return nil
	}
	free, has := b.free.Load(), first.has.Load()
	if first.fits(free, first.need) {
		return nil
	}
	var all, most int64
	var debtor *Share[T]
	for h := b.lending.First(); h != nil; h = h.lending.Next() {
		if h == first {
			continue
		}
		hHas := h.has.Load()
		if has > 0 && hHas <= has+first.need {
			continue
		}
		s := h.lenders.First()
		for s := s; s != nil; s = s.lending.Next() {
			all += s.has.Load()
		}
		if debtor == nil || hHas > most || hHas == most && s.loan < debtor.loan {
			debtor, most = s, hHas
		}
	}
	if !first.fits(free+all, first.need) {
		return nil
	}
	return debtor
}
