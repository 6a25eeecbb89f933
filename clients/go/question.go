package weir

import "encoding/json"

// Item is one thing to charge: exactly one of Budget, Limit, Meter, Meters, Guard, Overload.
type Item struct {
	// Units of a budget of the tenant.
	Budget string `json:"budget,omitempty"`
	// Units of a limit.
	Limit string `json:"limit,omitempty"`
	// What a limit counts by: 1 to 128 bytes.
	Key string `json:"key,omitempty"`
	// The key of each part of a limit made of others.
	Keys map[string]string `json:"keys,omitempty"`
	// Units of a meter of the tenant.
	Meter string `json:"meter,omitempty"`
	// Units of several meters of the tenant, all or none.
	Meters map[string]int64 `json:"meters,omitempty"`
	// A slot of a guard of the tenant: a call at a time. Acquire keeps and releases it.
	Guard string `json:"guard,omitempty"`
	// Whether the tenant may use an overloaded resource. Report tells how that went.
	Overload string `json:"overload,omitempty"`
	// Units to charge: 0 to 2^53-1, 1 when nil. 0 looks without charging anything.
	Cost *int64 `json:"cost,omitempty"`
}

// Units is a cost.
func Units(units int64) *int64 { return &units }

// Question is a check of one item, or of up to 16 Checks, all or nothing; at most one of them a guard.
type Question struct {
	// Who asks, 1 to 128 bytes; may be empty for limits that are not per tenant.
	Tenant string `json:"tenant,omitempty"`
	// The decision names a reservation, to be settled within 15 minutes.
	Reserve bool `json:"reserve,omitempty"`
	Item
	Checks []Item `json:"checks,omitempty"`
	// "all", which is what it means when it is empty, too.
	Require string `json:"require,omitempty"`
}

// PlaceQuestion asks for a place in the queue of a leaky_bucket.
type PlaceQuestion struct {
	Tenant string `json:"tenant,omitempty"`
	Limit  string `json:"limit"`
	Key    string `json:"key,omitempty"`
	Cost   *int64 `json:"cost,omitempty"`
}

// ReportedOutcome is how a request to a resource came out.
type ReportedOutcome string

// The outcomes.
const (
	Success ReportedOutcome = "success"
	Failure ReportedOutcome = "failure"
)

func (q Question) items() []Item {
	if len(q.Checks) > 0 {
		return q.Checks
	}
	return []Item{q.Item}
}

// guard is the guard that the question takes a slot of.
func (q Question) guard() string {
	for _, item := range q.items() {
		if item.Guard != "" {
			return item.Guard
		}
	}
	return ""
}

// units is what a settlement in full names: the largest cost of what can be settled.
func (q Question) units() int64 {
	most := int64(0)
	for _, item := range q.items() {
		for _, cost := range item.settled() {
			most = max(most, cost)
		}
	}
	return most
}

func (i Item) settled() []int64 {
	switch {
	case i.Guard != "" || i.Overload != "":
		return nil
	case i.Meters != nil:
		costs := make([]int64, 0, len(i.Meters))
		for _, cost := range i.Meters {
			costs = append(costs, cost)
		}
		return costs
	case i.Cost == nil:
		return []int64{1}
	}
	return []int64{*i.Cost}
}

// object is a JSON object of texts and numbers.
type object map[string]any

func (o object) json() string {
	text, err := json.Marshal(o)
	if err != nil {
		return "{}"
	}
	return string(text)
}
