package iwarp

// The flusher is a goroutine that does for others what they cannot wait for, or may not do: send when the network takes no
// more for now, and deliver completions after a Post. It exists from the first need on.

// wakeFlusher has the flusher look for what there is to do; e.mu is held.
func (e *endpoint) wakeFlusher() {
	if !e.flushing && e.err == nil {
		e.flushing = true
		go e.flush()
	}
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

func (e *endpoint) flush() {
	for {
		select {
		case <-e.kick:
		case <-e.over:
			return
		}
		if e.takeOver() {
			e.sendOn()
		}
		e.complete()
	}
}

// takeOver reports whether sending was handed to the flusher.
func (e *endpoint) takeOver() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := e.handed
	e.handed = false
	return own
}

// sendOn sends until there is nothing left, and waits for the network where it must.
func (e *endpoint) sendOn() {
	for {
		empty, err := e.llp.Wait(&e.batchMu)
		if err == nil && empty {
			if !e.batchSent() {
				return
			}
			e.complete()
			e.batchMu.Lock()
			if err = e.fill(); err == nil {
				_, err = e.llp.Flush()
			}
			e.batchMu.Unlock()
		}
		if err == nil && e.Err() != nil {
			err = e.Err()
		}
		if err != nil {
			e.stopSending(err)
			return
		}
	}
}
