package mpa

// ReadFrame reads a startup frame from a stream like ReadRequest and Initiate, but without checking
// its content. External tests compare it with ParseFrame, also on frames that those two refuse.
var ReadFrame = readFrame
