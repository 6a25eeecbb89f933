package weir

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	randoms "math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// again is why a call may be tried again.
type again int

const (
	// A key makes Weir charge it once.
	byKey again = iota
	// The second time changes nothing.
	byNature
	// It may not.
	never
)

const (
	// What is tried again whatever the options say, because nothing else would happen in its place.
	sureRetries = 2
	// The longest answer, in bytes; that to a batch of 1,000 is a tenth of it.
	answerBytesMax = 4 * 1024 * 1024
)

// answer is what Weir answers; sound says whether it has been read from such a thing.
type answer interface{ sound() bool }

// call is what is sent.
type call[T answer] struct {
	// Such as /v1/check.
	path string
	// JSON.
	body  string
	again again
}

// send sends a call until it is answered. The error is an *Error, or why the context ended.
func send[T answer](ctx context.Context, over *connection, call call[T], options CallOptions) (T, http.Header, error) {
	mayTakeMs := over.timeoutMs
	if options.TimeoutMs != 0 {
		mayTakeMs = options.TimeoutMs
	}
	deadline := time.Now().Add(milliseconds(mayTakeMs))
	more := retriesOf(over, call.again, options)
	key := keyOf(call.again, options, more)
	for failed := 0; ; {
		mayTake := share(time.Until(deadline), more-failed)
		value, headers, err := attempt(ctx, over, call, key, mayTake, failed+1)
		if err == nil {
			return value, headers, nil
		}
		// Who left is told nothing of Weir.
		if ctx.Err() != nil {
			return value, nil, context.Cause(ctx)
		}
		failed++
		pause := pauseAfter(failed, err.RetryAfterMs, randoms.Float64())
		inTime := pause < time.Until(deadline)
		if !err.Unreachable() || failed > more || !inTime {
			return value, nil, err
		}
		if err := sleep(ctx, pause); err != nil {
			return value, nil, err
		}
	}
}

func retriesOf(over *connection, again again, options CallOptions) int {
	wanted := over.retries
	if options.Retries != nil {
		wanted = *options.Retries
	}
	switch again {
	case byNature:
		return max(wanted, sureRetries)
	case never:
		return 0
	}
	return wanted
}

func keyOf(again again, options CallOptions, more int) string {
	switch {
	case again != byKey:
		return ""
	case options.IdempotencyKey != "":
		return options.IdempotencyKey
	case more > 0:
		return randomKey()
	}
	return ""
}

// randomKey is 128 random bits.
func randomKey() string {
	var bits [16]byte
	// It does not fail on any system that Go runs on; a key that is no secret would do, too.
	_, _ = rand.Read(bits[:])
	return hex.EncodeToString(bits[:])
}

// attempt is one try: an answer, or what went wrong.
func attempt[T answer](ctx context.Context, over *connection, call call[T], key string, mayTake time.Duration, number int) (T, http.Header, *Error) {
	header := http.Header{"Content-Type": {"application/json"}}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	request := &RequestEvent{Path: call.path, Attempt: number, Header: header, Body: call.body}
	if over.hooks.Request != nil {
		over.hooks.Request(request)
	}
	start := time.Now()
	status, headers, text, err := exchange(ctx, over, request, mayTake)
	var value T
	if err == nil {
		err = read(status, headers, text, &value)
	}
	if over.hooks.Response != nil {
		event := ResponseEvent{Request: request, Status: status, Duration: time.Since(start)}
		if err != nil {
			event.Err = err
		}
		over.hooks.Response(event)
	}
	return value, headers, err
}

func exchange(ctx context.Context, over *connection, event *RequestEvent, mayTake time.Duration) (int, http.Header, []byte, *Error) {
	within, cancel := context.WithTimeout(ctx, mayTake)
	defer cancel()
	fail := func(err error) (int, http.Header, []byte, *Error) {
		if within.Err() == context.DeadlineExceeded {
			return 0, nil, nil, noAnswer("The deadline passed.", err)
		}
		return 0, nil, nil, noAnswer(err.Error(), err)
	}
	request, err := http.NewRequestWithContext(within, http.MethodPost, over.base+event.Path, strings.NewReader(event.Body))
	if err != nil {
		return fail(err)
	}
	request.Header = event.Header.Clone()
	request.Header.Set("Authorization", "Bearer "+over.token)
	response, err := over.http.Do(request)
	if err != nil {
		return fail(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if err != nil {
		return fail(err)
	}
	if len(text) > answerBytesMax {
		return fail(fmt.Errorf("the answer is longer than %d bytes", answerBytesMax))
	}
	return response.StatusCode, response.Header, text, nil
}

func read[T answer](status int, headers http.Header, text []byte, value *T) *Error {
	if status < 200 || status > 299 {
		return refused(status, headers.Get("Retry-After"), string(text), time.Now())
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || json.Unmarshal(text, value) != nil || !(*value).sound() {
		return notWeir(status, string(text))
	}
	if name := required(value); name != "" && fields[name] == nil {
		return notWeir(status, string(text))
	}
	return nil
}

// dateOf is Weir's clock when the answer was given; nil where it is not told.
func dateOf(headers http.Header) *time.Time {
	date, err := http.ParseTime(headers.Get("Date"))
	if err != nil {
		return nil
	}
	return &date
}

// passedOn is the rate-limit fields of an answer.
func passedOn(headers http.Header) http.Header {
	fields := http.Header{}
	for name, values := range headers {
		lower := strings.ToLower(name)
		if lower == "ratelimit" || lower == "ratelimit-policy" || lower == "weir-decision" || strings.HasPrefix(lower, "x-ratelimit-") {
			fields[name] = values
		}
	}
	return fields
}
