package weir

import "sync"

// Reservation is what was charged before it is known what it costs.
type Reservation struct {
	// The decision.
	Decision Decision
	mutex    sync.Mutex
	used     *int64
}

// Used says what was used, in units: 0 to 2^53-1. The last word counts. More than was reserved is charged as debt.
func (r *Reservation) Used(units int64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.used = &units
}

// actual is what a settlement says: what was said, else all where the scope succeeded.
func (r *Reservation) actual(units int64, succeeded bool) int64 {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case r.used != nil:
		return *r.used
	case succeeded:
		return units
	}
	return 0
}
