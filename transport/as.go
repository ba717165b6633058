package transport

// As finds an ability of an endpoint, such as [Poller], or a provider's own type. It returns the
// first endpoint of type T along the chain that begins with ep; if T is an interface, the first
// that implements T. Like errors.As, it follows the chain from a wrapper to the endpoint below by
// the wrapper's method
//
//	Unwrap() Endpoint
//
// It does not look at what a wrapper embeds.
//
// An ability found below a wrapper bypasses the wrapper. A wrapper that must see those calls, such
// as PostPolled if it counts requests, implements the ability itself, but only if As finds it
// below. So its constructor returns one of two types. A wrapper that hides abilities has no method
// Unwrap.
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
