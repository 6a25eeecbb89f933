package weir

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error says that Weir refused a request, or did not answer it.
type Error struct {
	// The HTTP status; 0 when there was no answer.
	Status int
	// The kind of problem, such as /problems/invalid; about:blank when the answer was not Weir's.
	Type string
	// The kind in a few words.
	Title string
	// What was wrong this time.
	Detail string
	// JSON pointer to the value at fault in the question, such as /checks/1/cost; empty where there is none.
	Field string
	// Milliseconds after which to try again, where the answer said so.
	RetryAfterMs *int64
	// What leads to the explanation of a denial, where a rule denied; else empty.
	Decision string
	cause    error
}

const (
	blank    = "about:blank"
	underWay = "/problems/under-way"
	textMax  = 200
)

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Title + ": " + e.Detail
	}
	return fmt.Sprintf("%s: %s (%s)", e.Title, e.Detail, e.Field)
}

func (e *Error) Unwrap() error { return e.cause }

// Unreachable says whether Weir is out of reach: no answer, or one that says to try later. Otherwise the request itself is at
// fault. A 409 may say that the first try of the same call is under way.
func (e *Error) Unreachable() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusConflict:
		return e.Type == underWay
	}
	return e.Status < 300 || e.Status >= 500
}

// at is the same with another field.
func (e *Error) at(field string) *Error {
	other := *e
	other.Field = field
	return &other
}

// SlotLost is why a slot is lost: another may have it.
type SlotLost struct {
	why   string
	cause error
}

func (s *SlotLost) Error() string { return s.why }
func (s *SlotLost) Unwrap() error { return s.cause }

// OptionError names an option that makes no sense, and what it may be.
type OptionError struct {
	Name string
	Need string
}

func (o *OptionError) Error() string { return o.Name + ": " + o.Need }

func noAnswer(detail string, cause error) *Error {
	return &Error{Type: blank, Title: "Weir did not answer", Detail: detail, cause: cause}
}

// notWeir is an answer with a status of success that is not one of Weir's.
func notWeir(status int, text string) *Error {
	return &Error{Status: status, Type: blank, Title: "The answer is not Weir's", Detail: beginning(text)}
}

// refused is the answer to a request that was refused.
func refused(status int, retryAfter, text string, now time.Time) *Error {
	var told struct {
		Type         string
		Title        string
		Detail       string
		Field        string
		RetryAfterMs *int64 `json:"retry_after_ms"`
		Decision     string
	}
	if json.Unmarshal([]byte(text), &told) != nil || told.Type == "" {
		told.Type, told.Title, told.Detail = blank, fmt.Sprintf("HTTP %d", status), beginning(text)
	}
	return &Error{
		Status: status, Type: told.Type, Title: told.Title, Detail: told.Detail, Field: told.Field,
		RetryAfterMs: retryAfterMs(told.RetryAfterMs, retryAfter, now), Decision: told.Decision,
	}
}

// retryAfterMs is how long to wait: what the problem says, else Retry-After in seconds or as a date.
func retryAfterMs(told *int64, header string, now time.Time) *int64 {
	if told != nil {
		return Units(max(0, *told))
	}
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return Units(int64(seconds) * 1_000)
	}
	if date, err := http.ParseTime(header); err == nil {
		return Units(max(0, date.Sub(now).Milliseconds()))
	}
	return nil
}

func beginning(text string) string {
	letters := []rune(text)
	return string(letters[:min(len(letters), textMax)])
}

// unreachableCause is the error that Options.Fail answers; nil for others, and for none.
func unreachableCause(err error) *Error {
	var told *Error
	if errors.As(err, &told) && told.Unreachable() {
		return told
	}
	return nil
}

func unlessUnreachable(err error) error {
	if unreachableCause(err) != nil {
		return nil
	}
	return err
}
