package weir

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Fail is what a check is answered with while Weir is out of reach. There is no default.
type Fail string

// Open lets pass, Closed denies.
const (
	Open   Fail = "open"
	Closed Fail = "closed"
)

// Options is how a client is set up.
type Options struct {
	// Where Weir is, such as https://weir.example.com.
	URL string
	// A token of the role service, or of one tenant.
	Token string
	// What a check is answered with while Weir is out of reach.
	Fail Fail
	// Milliseconds that a call may take, its retries included: 1 to 2^31-1, 2000 when 0.
	TimeoutMs int64
	// How often a check is tried again: 0 to 10. Above 0 every check carries an Idempotency-Key, so that it is charged once
	// however often it is tried; that costs Weir a row a check, and the check a call to the object that keeps it.
	Retries int
	// Milliseconds within which checks are gathered into one request: 1 to 10,000; 0 sends each by itself. A batch carries no
	// Idempotency-Key and is never tried again.
	BatchMs int64
	// Called before each request and after it.
	Hooks Hooks
	// What requests are sent by; http.DefaultTransport when nil.
	Transport http.RoundTripper
}

// CallOptions is what single calls may say otherwise.
type CallOptions struct {
	// Milliseconds that a call may take, its retries included; 0 for what the client says.
	TimeoutMs int64
	// How often it is tried again; nil for what the client says.
	Retries *int
	// The key by which Weir knows a call again, within 10 minutes: 1 to 128 bytes. Made up when empty and needed.
	IdempotencyKey string
}

// RequestEvent is a request that is about to leave.
type RequestEvent struct {
	// Where to, such as /v1/check.
	Path string
	// Which try it is, from 1.
	Attempt int
	// What it is sent with, the token left out. What is added here is sent, too: Header.Set("traceparent", ...).
	Header http.Header
	// The body: JSON.
	Body string
}

// ResponseEvent is what came of it.
type ResponseEvent struct {
	Request *RequestEvent
	// The HTTP status; 0 when there was no answer.
	Status int
	// How long it took.
	Duration time.Duration
	// What went wrong, if anything. A denial is no error.
	Err error
}

// Hooks are called in place: slow ones slow the request.
type Hooks struct {
	Request  func(*RequestEvent)
	Response func(ResponseEvent)
}

const (
	timeoutMs    = 2_000
	timeoutMsMax = 1<<31 - 1
	retriesMax   = 10
	batchMsMax   = 10_000
	keyBytesMax  = 128
	// Connections that are kept for the next request.
	keptConnections = 100
)

// connection is what a call goes over.
type connection struct {
	base      string
	token     string
	fail      Fail
	timeoutMs int64
	retries   int
	hooks     Hooks
	http      *http.Client
}

func connect(options Options) (*connection, error) {
	base, err := baseOf(options.URL)
	if err != nil {
		return nil, err
	}
	if options.Token == "" || strings.ContainsFunc(options.Token, func(one rune) bool { return one <= ' ' || one > '~' }) {
		return nil, &OptionError{"Token", "a text of visible ASCII is needed"}
	}
	if options.Fail != Open && options.Fail != Closed {
		return nil, &OptionError{"Fail", "Open or Closed is needed"}
	}
	if options.TimeoutMs == 0 {
		options.TimeoutMs = timeoutMs
	}
	for _, err := range []error{
		whole("TimeoutMs", options.TimeoutMs, 1, timeoutMsMax),
		whole("Retries", int64(options.Retries), 0, retriesMax),
		whole("BatchMs", options.BatchMs, 0, batchMsMax),
	} {
		if err != nil {
			return nil, err
		}
	}
	transport := options.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = keptConnections
		transport = own
	}
	// The token goes to this address and to no other.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &connection{
		base: base, token: options.Token, fail: options.Fail, timeoutMs: options.TimeoutMs, retries: options.Retries,
		hooks: options.Hooks, http: &http.Client{Transport: transport, CheckRedirect: stay},
	}, nil
}

func (o CallOptions) check() error {
	if o.TimeoutMs != 0 {
		if err := whole("TimeoutMs", o.TimeoutMs, 1, timeoutMsMax); err != nil {
			return err
		}
	}
	if o.Retries != nil {
		if err := whole("Retries", int64(*o.Retries), 0, retriesMax); err != nil {
			return err
		}
	}
	outside := func(one rune) bool { return one < ' ' || one > '~' }
	if len(o.IdempotencyKey) > keyBytesMax || strings.ContainsFunc(o.IdempotencyKey, outside) {
		return &OptionError{"IdempotencyKey", fmt.Sprintf("1 to %d characters of printable ASCII are needed", keyBytesMax)}
	}
	return nil
}

func whole(name string, value, least, most int64) error {
	if value >= least && value <= most {
		return nil
	}
	return &OptionError{name, fmt.Sprintf("a whole number from %d to %d is needed, not %d", least, most, value)}
}

// baseOf is the address without what follows its path, which ends without a slash.
func baseOf(text string) (string, error) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || (address.Scheme != "https" && address.Scheme != "http") {
		return "", &OptionError{"URL", "https: or http: and a host are needed"}
	}
	// A name and a password would be sent in the token's place.
	if address.User != nil {
		return "", &OptionError{"URL", "neither a name nor a password may be in it"}
	}
	return address.Scheme + "://" + address.Host + strings.TrimRight(address.EscapedPath(), "/"), nil
}
