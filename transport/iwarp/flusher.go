package iwarp

// flusher is a goroutine that does what others cannot wait for, or may not do: send when the
// network takes no more for now, and deliver completions after a Post. It starts when first needed,
// and runs until the end.
type flusher struct {
	*link
	sender    *sender
	completer *completer
	kick      chan struct{} // capacity 1: there is something to do

	// The link's mu guards these.
	running bool
	handed  bool // sending was handed to it
}

// wake makes the flusher look for work; f.mu is held.
func (f *flusher) wake() {
	if !f.running && f.err == nil {
		f.running = true
		go f.run()
	}
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

func (f *flusher) run() {
	for {
		select {
		case <-f.kick:
		case <-f.over:
			return
		}
		if f.takeOver() {
			f.sendOn()
		}
		f.completer.complete()
	}
}

// takeOver reports whether sending was handed to the flusher, and accepts it.
func (f *flusher) takeOver() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.handed
	f.handed = false
	return own
}

// sendOn sends until nothing is left, waiting for the network when it must.
func (f *flusher) sendOn() {
	returned := false
	defer func() {
		if !returned { // a Completer has ended this goroutine
			f.mu.Lock()
			f.sender.cease()
			f.mu.Unlock()
		}
	}()
	f.sendAll()
	returned = true
}

// sendAll is sendOn. It returns when this goroutine no longer sends.
func (f *flusher) sendAll() {
	for {
		empty, err := f.llp.Wait(&f.sender.segmenter.mu)
		if err == nil && empty {
			if !f.sender.goOn() {
				return
			}
			f.completer.complete()
			_, err = f.sender.segmenter.flush()
		}
		if err == nil {
			err = f.Err()
		}
		if err != nil {
			f.sender.fail(err)
			return
		}
	}
}
