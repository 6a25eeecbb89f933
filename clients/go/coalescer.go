package weir

import (
	"context"
	"sync"
	"time"
)

// bounds is what bounds a batch.
type bounds struct {
	// Questions, at most.
	questions int
	// Bytes of their texts, commas included, at most. One that is longer goes alone.
	bytes int
}

// waiting is a question that waits for its answer.
type waiting struct {
	// JSON.
	text   string
	answer chan Result
}

func newWaiting(text string) *waiting {
	// One who has left blocks nobody.
	return &waiting{text: text, answer: make(chan Result, 1)}
}

func (w *waiting) wait(ctx context.Context) (Decision, error) {
	select {
	case result := <-w.answer:
		return result.Decision, result.Err
	case <-ctx.Done():
		return Decision{}, context.Cause(ctx)
	}
}

// gathering is questions that are together.
type gathering struct {
	open  []*waiting
	bytes int
}

// add adds a question; what leaves by that, in its order.
func (g *gathering) add(one *waiting, bounds bounds) [][]*waiting {
	var leaving [][]*waiting
	length := len(one.text) + 1
	if len(g.open) > 0 && g.bytes+length > bounds.bytes {
		leaving = append(leaving, g.take())
	}
	g.open = append(g.open, one)
	g.bytes += length
	if len(g.open) >= bounds.questions {
		leaving = append(leaving, g.take())
	}
	return leaving
}

func (g *gathering) take() []*waiting {
	batch := g.open
	g.open, g.bytes = nil, 0
	return batch
}

// coalescer gathers what is asked within a short time, and hands it to send in batches, in its order.
type coalescer struct {
	within time.Duration
	bounds bounds
	send   func([]*waiting)
	mutex  sync.Mutex
	open   gathering
	timer  *time.Timer
}

func newCoalescer(within time.Duration, bounds bounds, send func([]*waiting)) *coalescer {
	return &coalescer{within: within, bounds: bounds, send: send}
}

func (c *coalescer) ask(ctx context.Context, text string) (Decision, error) {
	one := newWaiting(text)
	c.add(one)
	return one.wait(ctx)
}

func (c *coalescer) add(one *waiting) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, batch := range c.open.add(one, c.bounds) {
		c.stop()
		c.send(batch)
	}
	if len(c.open.open) > 0 && c.timer == nil {
		var timer *time.Timer
		timer = time.AfterFunc(c.within, func() { c.flush(&timer) })
		c.timer = timer
	}
}

// flush sends what there is, unless its timer was stopped when it was too late.
func (c *coalescer) flush(timer **time.Timer) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.timer != *timer {
		return
	}
	c.timer = nil
	if batch := c.open.take(); len(batch) > 0 {
		c.send(batch)
	}
}

func (c *coalescer) stop() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
