package iwarp

// ListenHolding is NewListener with another time for which peers are kept that come again without speaking MPA. That time is
// nobody's to configure; a test needs one that does not pass while it looks, and one that does not make it wait.
var ListenHolding = newListener
