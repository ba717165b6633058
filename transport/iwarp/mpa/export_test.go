package mpa

// ReadFrame reads a startup frame from a stream, as ReadRequest and Initiate do before they look at
// what it says. Tests outside need it apart from that, to compare it with ParseFrame on frames of
// either kind that neither of the two would take.
var ReadFrame = readFrame
