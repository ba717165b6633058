package transport

// As finds the first endpoint along the chain that begins with ep whose type is T, or
// which implements it if T is an interface: an ability such as [Poller], or a type of
// a provider. The chain goes from a wrapper, by its method
//
//	Unwrap() Endpoint
//
// to the endpoint that it wraps, as errors.As goes from error to error.
//
// An ability that is found below a wrapper goes past the wrapper. A wrapper that has
// to see what goes that way, as one that counts requests has to see PostPolled,
// implements the ability itself, if As finds it below: its constructor returns one of two
// types. One that is to hide an ability has no Unwrap. What a wrapper embeds is not on the
// chain, other than by Unwrap.
func As[T any](ep Endpoint) (T, bool) {
	for ep != nil {
		if t, ok := ep.(T); ok {
			return t, true
		}
		w, ok := ep.(interface{ Unwrap() Endpoint })
		if !ok {
			break
		}
		ep = w.Unwrap()
	}
	var none T
	return none, false
}
