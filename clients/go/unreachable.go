package weir

import "time"

// Milliseconds after which to ask again, where a denial has to say something.
const retryMs = 1_000

// unreachableDecision is the decision of fail.
func unreachableDecision(fail Fail, cause *Error, now time.Time) Decision {
	after := retryOf(fail, cause)
	return Decision{
		Allowed: fail == Open, Reason: Unreachable, ResetAt: now.UnixMilli() + after, RetryAfterMs: &after, Cause: cause,
	}
}

// unreachablePlace is the place of fail: Open lets go on at once.
func unreachablePlace(fail Fail, cause *Error) Place {
	after := retryOf(fail, cause)
	return Place{Accepted: fail == Open, RetryAfterMs: &after, Cause: cause}
}

func retryOf(fail Fail, cause *Error) int64 {
	switch {
	case fail == Open:
		return 0
	case cause.RetryAfterMs != nil:
		return *cause.RetryAfterMs
	}
	return retryMs
}
