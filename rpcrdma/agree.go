package rpcrdma

// Settings returns the settings in force.
func (c *Conn) Settings() Settings { return *c.settings.Load() }

// EnlargeReceives asks for receives of n bytes, up to MaxInline, from now on. It returns the
// largest Send that the peer may now make. That is less than n if memory is short, or if shorter
// receives are posted already, because these cannot be recalled. It is more if receives are longer
// already.
//
// Call it in the handler of a call, or just before a call while no other is under way.
func (c *Conn) EnlargeReceives(n int) int {
	n = min(max(n, DefaultInline), MaxInline)
	c.mu.Lock()
	defer c.mu.Unlock()
	// The reply to the caller's next call uses up the first receive.
	spare := 0
	if _, active, _ := c.granter.State(); active == 0 && c.receives.Expected() == 0 {
		spare = 1
	}
	return c.receives.Enlarge(n, spare)
}

// UpdateSettings puts into force what the two ends have agreed on. It calls change with the
// settings in force, for change to modify. PeerReads and Align stay as they are; other values are
// clamped to the possible range. The result holds for calls and replies that are planned from now
// on.
//
// No other update happens while change runs, so change must be short and must not call
// UpdateSettings.
func (c *Conn) UpdateSettings(change func(*Settings)) {
	c.agreeing.Lock()
	defer c.agreeing.Unlock()
	now := *c.settings.Load()
	s := now
	change(&s)
	c.mu.Lock()
	longest := c.receives.Longest()
	c.mu.Unlock()
	now.MaxSend = min(max(s.MaxSend, DefaultInline), c.maxSend())
	now.MaxRecv = min(max(s.MaxRecv, DefaultInline), longest)
	now.MaxReplySend = min(max(s.MaxReplySend, DefaultInline), c.maxSend())
	now.MaxCallRecv = min(max(s.MaxCallRecv, DefaultInline), longest)
	now.Reads = min(max(s.Reads, 0), c.info.ORD)
	now.PeerAlign = c.padTo(s.PeerAlign)
	c.settings.Store(&now)
	c.gate.Set(max(1, now.Reads)) // at zero those that wait already go one by one
}
