package weir

import (
	"context"
	"time"
)

// slot is a slot of a guard, renewed at a third of its lease until it is released. It is lost when Weir refuses to renew it, or when
// its lease passes while Weir is out of reach: its context ends then, for another may have the slot.
type slot struct {
	Decision Decision
	// Ends when the slot is lost or released.
	ctx     context.Context
	end     context.CancelCauseFunc
	client  *Client
	guard   string
	renewed chan struct{}
}

// keep keeps the slot of a decision; date is Weir's clock at it.
func keep(ctx context.Context, client *Client, guard string, decision Decision, date *time.Time) *slot {
	held, end := context.WithCancelCause(ctx)
	kept := &slot{Decision: decision, ctx: held, end: end, client: client, guard: guard, renewed: make(chan struct{})}
	if decision.Slot == "" {
		close(kept.renewed)
		if !decision.Allowed {
			end(nil)
		}
		return kept
	}
	go kept.renew(leaseOf(&decision.ExpiresAt, date))
	return kept
}

func (s *slot) decision() Decision {
	if s == nil {
		return Decision{}
	}
	return s.Decision
}

// release gives the slot back. Where Weir cannot be told, it lapses with its lease.
func (s *slot) release(ctx context.Context) {
	_, lost := context.Cause(s.ctx).(*SlotLost)
	s.end(nil)
	<-s.renewed
	// What is lost is not ours to give back.
	if s.Decision.Slot == "" || lost {
		return
	}
	// It is gone at the end of its lease in any case.
	_, _ = s.client.Release(ctx, s.guard, s.Decision.Slot)
}

// lease is how long a slot is held unless it is renewed.
type lease struct {
	every time.Duration
	ends  time.Time
}

func leaseOf(expiresAt *int64, date *time.Time) lease {
	now := time.Now()
	left := time.Duration(0)
	if expiresAt != nil {
		left = leaseLeft(time.UnixMilli(*expiresAt), date, now)
	}
	every := renewal(left)
	return lease{every: every, ends: now.Add(3 * every)}
}

func (l lease) left() time.Duration { return max(0, time.Until(l.ends)) }

func (s *slot) renew(held lease) {
	defer close(s.renewed)
	for wait := held.every; ; {
		if sleep(s.ctx, wait) != nil {
			return
		}
		options := s.client.options
		options.TimeoutMs = max(1, held.left().Milliseconds())
		state, date, err := s.client.change(s.ctx, s.guard, "renew", s.Decision.Slot, options)
		switch {
		case s.ctx.Err() != nil:
			return
		case err == nil && state.Held:
			held = leaseOf(state.ExpiresAt, date)
			wait = held.every
		case err == nil:
			s.end(&SlotLost{why: "The slot had lapsed."})
		case unreachableCause(err) == nil:
			s.end(&SlotLost{why: "The slot was not renewed.", cause: err})
		case held.left() == 0:
			s.end(&SlotLost{why: "The lease passed without an answer.", cause: err})
		default:
			wait = min(held.every, held.left())
		}
	}
}
