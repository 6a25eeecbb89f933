package weir

import "net/http"

// Reason is why a decision came out as it did.
type Reason string

// The reasons. Unreachable is this client's own: Weir did not answer in time.
const (
	Admitted      Reason = "admitted"
	OverShare     Reason = "over_share"
	CapReached    Reason = "cap_reached"
	LimitExceeded Reason = "limit_exceeded"
	Concurrency   Reason = "concurrency"
	Overloaded    Reason = "overloaded"
	Unavailable   Reason = "unavailable"
	Never         Reason = "never"
	Unreachable   Reason = "unreachable"
)

// Decision is a decision. Times are epoch milliseconds, durations milliseconds. What a newer Weir adds is left out.
type Decision struct {
	// Whether the request may pass.
	Allowed bool `json:"allowed"`
	// Why.
	Reason Reason `json:"reason"`
	// The ceiling that was compared with, in units; 0 when Weir was out of reach.
	Limit int64 `json:"limit"`
	// Units that could still be admitted now.
	Remaining int64 `json:"remaining"`
	// When the state is back to full, or the window's expected end.
	ResetAt int64 `json:"reset_at"`
	// After how long the same request could be admitted; 0 when allowed, nil when it never could.
	RetryAfterMs *int64 `json:"retry_after_ms"`
	// The name of the budget, limit, meter, guard or resource that decided; empty when Weir was out of reach.
	Binding string `json:"binding"`
	// The region that decided.
	Region string `json:"region"`
	// The label of the window that was charged; nil where there is none.
	Window *int64 `json:"window"`
	// The revision of the policy that was applied.
	PolicyRevision int64 `json:"policy_revision"`
	// What leads to the explanation of a denial, for whoever operates Weir; empty where it is allowed.
	Decision string `json:"decision,omitempty"`
	// What settles the charge, where that was asked for.
	Reservation string `json:"reservation,omitempty"`
	// What renews and releases the slot, where one was taken.
	Slot string `json:"slot,omitempty"`
	// When the slot lapses unless it is renewed, by Weir's clock.
	ExpiresAt int64 `json:"expires_at,omitempty"`
	// The rate-limit fields that Weir's answer had, to be passed on; nil for a check that was part of a batch.
	Headers http.Header `json:"-"`
	// Why there was no answer, where Reason is Unreachable.
	Cause *Error `json:"-"`
}

func (d Decision) sound() bool { return d.Reason != "" }

// Place is a place in the queue of a leaky_bucket, or why there is none.
type Place struct {
	// Whether there is a place.
	Accepted bool `json:"accepted"`
	// How long to wait before going on; 0 when not accepted.
	DelayMs int64 `json:"delay_ms"`
	// After how long the same request could get a place; 0 when accepted, nil for never.
	RetryAfterMs *int64 `json:"retry_after_ms"`
	// What leads to the explanation of a denial, for whoever operates Weir; empty where there is a place.
	Decision string `json:"decision,omitempty"`
	// Why there was no answer, where Weir was out of reach.
	Cause *Error `json:"-"`
}

func (p Place) sound() bool { return true }

// Settled is what was settled, in units.
type Settled struct {
	// Units that were reserved.
	Reserved int64 `json:"reserved"`
	// Units that were used.
	Actual int64 `json:"actual"`
	// Units that were given back.
	Refunded int64 `json:"refunded"`
	// Units that were charged beyond what was reserved.
	Debt int64 `json:"debt"`
}

func (s Settled) sound() bool { return true }

// SlotState is a slot after it was renewed or released.
type SlotState struct {
	// Whether it is held.
	Held bool `json:"held"`
	// Until when, by Weir's clock; nil when it is not.
	ExpiresAt *int64 `json:"expires_at"`
}

func (s SlotState) sound() bool { return true }

// reported is the answer to a report, whatever it says.
type reported map[string]any

func (r reported) sound() bool { return r != nil }

// required names a field that each answer of a kind has: what lacks it is the word of something else on the way.
func required(answer any) string {
	switch answer.(type) {
	case *Decision:
		return "allowed"
	case *Place:
		return "accepted"
	case *Settled:
		return "actual"
	case *SlotState:
		return "held"
	case *decisions:
		return "decisions"
	}
	return ""
}
