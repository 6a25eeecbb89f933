// Package weir asks Weir, a fair rate limiter: a decision by HTTP, and an explicit one while Weir is out of reach.
package weir

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// Client asks Weir. One serves a whole process, and all of its goroutines.
//
// Each call returns an *Error when the request itself is at fault (a name that the policy does not have, a token that is not
// valid), and never because Weir is out of reach: Options.Fail decides then. What else it returns is why the context ended.
type Client struct {
	over      *connection
	coalescer *coalescer
	options   CallOptions
}

// New makes a client that has asked nothing yet. The error names the option that makes no sense.
func New(options Options) (*Client, error) {
	over, err := connect(options)
	if err != nil {
		return nil, err
	}
	client := &Client{over: over}
	if options.BatchMs > 0 {
		within := time.Duration(options.BatchMs) * time.Millisecond
		client.coalescer = newCoalescer(within, batchBounds, func(batch []*waiting) { go decide(over, batch) })
	}
	return client, nil
}

// With is the same client with other options. Its checks are never part of a batch.
func (c *Client) With(options CallOptions) (*Client, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	return &Client{over: c.over, options: options}, nil
}

// Check decides. A denial is an answer.
func (c *Client) Check(ctx context.Context, question Question) (Decision, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return Decision{}, err
	}
	if c.coalescer != nil {
		return c.coalescer.ask(ctx, string(text))
	}
	decision, _, err := c.decision(ctx, string(text))
	return decision, err
}

// Result is a decision, or why there is none.
type Result struct {
	Decision Decision
	Err      error
}

// Batch decides many in as few requests as they fit in: 1,000 and 64 KiB each. One at fault has its error in the place of a
// decision, and harms no other.
func (c *Client) Batch(ctx context.Context, questions []Question) []Result {
	results := make([]Result, len(questions))
	asked := make([]*waiting, len(questions))
	var open gathering
	for index, question := range questions {
		text, err := json.Marshal(question)
		if err != nil {
			results[index].Err = err
			continue
		}
		asked[index] = newWaiting(string(text))
		for _, batch := range open.add(asked[index], batchBounds) {
			go decide(c.over, batch)
		}
	}
	if rest := open.take(); len(rest) > 0 {
		go decide(c.over, rest)
	}
	for index, one := range asked {
		if one != nil {
			results[index].Decision, results[index].Err = one.wait(ctx)
		}
	}
	return results
}

// Reserve charges what a call may cost at most, runs it, and settles what it did cost: to what Reservation.Used said last; when
// it said nothing, in full if run returned nil and to 0 if it returned an error or panicked. Denied, run is not called.
//
// A guard among the question's checks is renewed meanwhile and released at the end; run's context ends, with a *SlotLost as its
// cause, when it is lost. A settlement that does not reach Weir leaves all charged, and is no error.
func (c *Client) Reserve(ctx context.Context, question Question, run func(context.Context, *Reservation) error) (Decision, error) {
	question.Reserve = true
	held, err := c.slot(ctx, question)
	if err != nil || !held.Decision.Allowed {
		return held.decision(), err
	}
	reservation := &Reservation{Decision: held.Decision}
	succeeded := false
	defer func() {
		actual := reservation.actual(question.units(), succeeded)
		// Whoever ended the context has used what was used.
		ending := context.WithoutCancel(ctx)
		released := make(chan struct{})
		go func() {
			held.release(ending)
			close(released)
		}()
		if held.Decision.Reservation != "" {
			// A reservation that is not known, or whose time is over, stays charged as well.
			_, _ = c.Settle(ending, held.Decision.Reservation, actual)
		}
		<-released
	}()
	err = run(held.ctx, reservation)
	succeeded = err == nil
	return held.Decision, err
}

// Acquire takes a slot of a guard, runs run, and gives the slot back. Meanwhile the slot is renewed at a third of its lease; run's
// context ends, with a *SlotLost as its cause, when it is lost. Denied, run is not called.
func (c *Client) Acquire(ctx context.Context, tenant, guard string, run func(context.Context, Decision) error) (Decision, error) {
	held, err := c.slot(ctx, Question{Tenant: tenant, Item: Item{Guard: guard}})
	if err != nil || !held.Decision.Allowed {
		return held.decision(), err
	}
	defer held.release(context.WithoutCancel(ctx))
	return held.Decision, run(held.ctx, held.Decision)
}

// Place takes a place in the queue of a leaky_bucket; whoever has it waits DelayMs and goes on.
func (c *Client) Place(ctx context.Context, question PlaceQuestion) (Place, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return Place{}, err
	}
	place, _, err := send(ctx, c.over, call[Place]{path: "/v1/reserve", body: string(text), again: byKey}, c.options)
	if cause := unreachableCause(err); cause != nil {
		return unreachablePlace(c.over.fail, cause), nil
	}
	return place, err
}

// Settle says what a reservation came to, in units; 0 releases it. Nil when Weir could not be told: then all stays charged.
func (c *Client) Settle(ctx context.Context, reservation string, actual int64) (*Settled, error) {
	body := object{"reservation": reservation, "actual": actual}.json()
	settled, _, err := send(ctx, c.over, call[Settled]{path: "/v1/settle", body: body, again: byNature}, c.options)
	if err != nil {
		return nil, unlessUnreachable(err)
	}
	return &settled, nil
}

// Release gives a slot back that a check took; again changes nothing. Nil when Weir could not be told: it lapses then.
func (c *Client) Release(ctx context.Context, guard, slot string) (*SlotState, error) {
	state, _, err := c.change(ctx, guard, "release", slot, c.options)
	if err != nil {
		return nil, unlessUnreachable(err)
	}
	return &state, nil
}

// Report says how a request to an overloaded resource came out. Needs the role service. False when Weir could not be told; it is
// not told again, as it might have heard it.
func (c *Client) Report(ctx context.Context, resource, tenant string, outcome ReportedOutcome) (bool, error) {
	body := object{"resource": resource, "tenant": tenant, "outcome": outcome}.json()
	_, _, err := send(ctx, c.over, call[reported]{path: "/v1/report", body: body, again: never}, c.options)
	return err == nil, unlessUnreachable(err)
}

// decision is the decision, and Weir's clock.
func (c *Client) decision(ctx context.Context, text string) (Decision, *time.Time, error) {
	decision, headers, err := send(ctx, c.over, checkCall(text), c.options)
	if cause := unreachableCause(err); cause != nil {
		return unreachableDecision(c.over.fail, cause, time.Now()), nil, nil
	}
	decision.Headers = passedOn(headers)
	return decision, dateOf(headers), err
}

func (c *Client) slot(ctx context.Context, question Question) (*slot, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	decision, date, err := c.decision(ctx, string(text))
	if err != nil {
		return nil, err
	}
	return keep(ctx, c, question.guard(), decision, date), nil
}

func (c *Client) change(ctx context.Context, guard, what, slot string, options CallOptions) (SlotState, *time.Time, error) {
	path := "/v1/guards/" + url.PathEscape(guard) + "/" + what
	body := object{"slot": slot}.json()
	state, headers, err := send(ctx, c.over, call[SlotState]{path: path, body: body, again: byNature}, options)
	return state, dateOf(headers), err
}
