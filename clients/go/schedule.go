package weir

import (
	"context"
	"time"
)

const (
	// The pause before the first retry is up to this; it doubles with each further one.
	pause = 50 * time.Millisecond
	// The longest pause, where the answer names none.
	pauseMax = 2 * time.Second
	// The shortest lease of a guard.
	leaseMin = 100 * time.Millisecond
)

// pauseAfter is how long to wait until the next try, after failed tries (from 1). What Weir said counts; else a drawn part (random
// from 0 to 1) of a length that doubles, so that many clients do not come back at once.
func pauseAfter(failed int, toldMs *int64, random float64) time.Duration {
	if toldMs != nil {
		return milliseconds(*toldMs)
	}
	longest := min(pause<<min(failed-1, 16), pauseMax)
	return time.Duration(random * float64(longest))
}

// share is how long a try may take when left is left for it and for retries more: an even share, so that one that hangs leaves
// time for the next. At least a millisecond.
func share(left time.Duration, retries int) time.Duration {
	return max(time.Millisecond, left/time.Duration(retries+1))
}

// renewal is how long until a slot is to be renewed: a third of its lease, so that two renewals may fail. A lease that seems
// shorter than any is taken for the shortest: the clocks disagree.
func renewal(lease time.Duration) time.Duration {
	return max(leaseMin, lease) / 3
}

// leaseLeft is what is left of a lease that ends at expiresAt by Weir's clock. date is the Date field of the answer, which counts
// whole seconds: where this machine's clock is not within that second, the nearer end of it is taken for now.
func leaseLeft(expiresAt time.Time, date *time.Time, now time.Time) time.Duration {
	if date != nil {
		last := date.Add(time.Second)
		if now.Before(*date) {
			now = *date
		} else if now.After(last) {
			now = last
		}
	}
	return expiresAt.Sub(now)
}

// milliseconds is a length of time that a number of them is, a century at most.
func milliseconds(count int64) time.Duration {
	const century = 100 * 365 * 24 * 3_600_000
	return time.Duration(min(count, century)) * time.Millisecond
}

// sleep waits; it ends early, with its cause, when the context ends.
func sleep(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
