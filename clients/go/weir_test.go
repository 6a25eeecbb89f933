package weir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func equal(t *testing.T, told, expected any, what ...any) {
	t.Helper()
	if !reflect.DeepEqual(told, expected) {
		t.Errorf("%v: %#v, not %#v", what, told, expected)
	}
}

func TestPausesDoubleUpToTwoSecondsAndAreDrawnBelowThat(t *testing.T) {
	for failed, ms := range map[int]int64{1: 50, 2: 100, 3: 200, 4: 400, 5: 800, 6: 1_600, 7: 2_000, 20: 2_000, 99: 2_000} {
		equal(t, pauseAfter(failed, nil, 1).Milliseconds(), ms, failed)
	}
	equal(t, pauseAfter(3, nil, 0.5), 100*time.Millisecond)
	equal(t, pauseAfter(1, Units(1_000), 0), time.Second)
	equal(t, pauseAfter(9, Units(0), 1), time.Duration(0))
	if pauseAfter(1, Units(1<<62), 0) < time.Hour {
		t.Error("a pause for ever is none that is short")
	}
}

func TestTheTriesShareWhatIsLeftOfTheDeadlineEvenly(t *testing.T) {
	for _, one := range []struct {
		left    time.Duration
		retries int
		share   time.Duration
	}{{2_000, 0, 2_000}, {2_000, 3, 500}, {1_500, 2, 500}, {-5, 1, 1}} {
		equal(t, share(one.left*time.Millisecond, one.retries), one.share*time.Millisecond)
	}
}

func TestRetryAfterIsSecondsOrADateAndTheProblemSMillisecondsCountMore(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, one := range []struct {
		told     *int64
		header   string
		expected *int64
	}{
		{nil, "3", Units(3_000)},
		{Units(250), "3", Units(250)},
		{Units(-7), "3", Units(0)},
		{nil, "Thu, 01 Jan 2026 00:00:02 GMT", Units(2_000)},
		{nil, "Wed, 31 Dec 2025 00:00:00 GMT", Units(0)},
		{nil, "soon", nil},
		{nil, "+3", nil},
		{nil, strings.Repeat("9", 5_000), nil},
		{nil, "", nil},
	} {
		equal(t, retryAfterMs(one.told, one.header, now), one.expected, one.header)
	}
}

func TestASlotIsRenewedAtAThirdOfItsLeaseAndAWrongClockMakesItLongerByNoMoreThanASecond(t *testing.T) {
	equal(t, renewal(30*time.Second), 10*time.Second)
	equal(t, renewal(-time.Hour).Milliseconds(), int64(33))
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := second.Add(400 * time.Millisecond)
	ends := now.Add(30 * time.Second)
	equal(t, leaseLeft(ends, &second, now), 30*time.Second)
	equal(t, leaseLeft(ends, &second, now.Add(-time.Hour)), 30_400*time.Millisecond)
	equal(t, leaseLeft(ends, &second, now.Add(time.Hour)), 29_400*time.Millisecond)
	equal(t, leaseLeft(ends, nil, now), 30*time.Second)
}

func TestWhichErrorsAreOfTheMoment(t *testing.T) {
	for _, one := range []struct {
		status      int
		kind        string
		unreachable bool
	}{
		{0, blank, true}, {200, blank, true}, {307, blank, false}, {400, "/problems/invalid", false},
		{401, "/problems/unauthorized", false}, {404, "/problems/not-found", false}, {408, blank, true},
		{409, underWay, true}, {409, "/problems/conflict", false}, {413, blank, false}, {425, blank, true},
		{429, blank, true}, {500, blank, true}, {503, blank, true},
	} {
		equal(t, (&Error{Status: one.status, Type: one.kind}).Unreachable(), one.unreachable, one.status, one.kind)
	}
}

func texts(batches [][]*waiting) [][]string {
	told := [][]string{}
	for _, batch := range batches {
		words := []string{}
		for _, one := range batch {
			words = append(words, one.text)
		}
		told = append(told, words)
	}
	return told
}

// gather is a coalescer, and the batches that left it.
func gather(within time.Duration, bounds bounds) (*coalescer, func() [][]string) {
	var mutex sync.Mutex
	var left [][]*waiting
	send := func(batch []*waiting) {
		mutex.Lock()
		defer mutex.Unlock()
		left = append(left, batch)
		for _, one := range batch {
			one.answer <- Result{Decision: Decision{Binding: one.text}}
		}
	}
	return newCoalescer(within, bounds, send), func() [][]string {
		mutex.Lock()
		defer mutex.Unlock()
		return texts(left)
	}
}

func TestWhatIsAskedTogetherLeavesTogetherWithinTheBoundsOfABatch(t *testing.T) {
	long := strings.Repeat("x", 50)
	for _, one := range []struct {
		bounds   bounds
		asked    []string
		expected [][]string
	}{
		{bounds{1_000, 65_536}, []string{"a", "b", "c"}, [][]string{{"a", "b", "c"}}},
		{bounds{2, 65_536}, []string{"a", "b", "c", "d"}, [][]string{{"a", "b"}, {"c", "d"}}},
		// Bytes are those of UTF-8 with a comma each, and one that is too long goes alone.
		{bounds{1_000, 10}, []string{"aaaa", "\u00fc\u00fc", "b", long, "c"}, [][]string{{"aaaa", "\u00fc\u00fc"}, {"b"}, {long}, {"c"}}},
	} {
		coalescer, left := gather(20*time.Millisecond, one.bounds)
		asked := []*waiting{}
		for _, text := range one.asked {
			asked = append(asked, newWaiting(text))
			coalescer.add(asked[len(asked)-1])
		}
		for index, waiting := range asked {
			decision, err := waiting.wait(context.Background())
			equal(t, []any{decision.Binding, err}, []any{one.asked[index], nil})
		}
		equal(t, left(), one.expected)
	}
}

func TestWhoHasLeftHarmsNobodyAndAFullBatchDoesNotWait(t *testing.T) {
	coalescer, left := gather(time.Hour, bounds{2, 65_536})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := coalescer.ask(ended, "a")
	equal(t, err, context.Canceled)
	decision, err := coalescer.ask(context.Background(), "b")
	equal(t, []any{decision.Binding, err, left()}, []any{"b", nil, [][]string{{"a", "b"}}})
}

// told is a server that says what each test wants by path, and notes what it heard.
type told struct {
	*httptest.Server
	mutex sync.Mutex
	seen  []*http.Request
}

const decisionText = `{"allowed":true,"reason":"admitted","limit":10,"remaining":9,"reset_at":5,"retry_after_ms":0,` +
	`"binding":"tokens","region":"weur","window":1,"policy_revision":1,"colour":"blue"}`

func serve(t *testing.T) *told {
	answers := map[string]struct {
		status int
		text   string
		field  string
		value  string
	}{
		"/page/v1/check":        {200, "<html>Log in to the network</html>", "", ""},
		"/other/v1/check":       {200, `{"hello":"world"}`, "", ""},
		"/deep/v1/check":        {200, strings.Repeat("[", 100_000), "", ""},
		"/huge/v1/check":        {200, strings.Repeat(" ", answerBytesMax+1), "", ""},
		"/gateway/v1/check":     {502, "Bad gateway", "", ""},
		"/busy/v1/check":        {429, "Slow down", "Retry-After", "7"},
		"/moved/v1/check":       {307, "", "Location", "/elsewhere"},
		"/lost/v1/check":        {404, "<html>Not here</html>", "", ""},
		"/few/v1/check/batch":   {200, `{"decisions":[]}`, "", ""},
		"/wrong/v1/check/batch": {401, `{"type":"/problems/unauthorized","title":"T","status":401,"detail":"D"}`, "", ""},
		"/denied/v1/check":      {403, `{"type":"t","title":"T","status":403,"detail":"D","decision":"5.x"}`, "", ""},
		"/newer/v1/check":       {200, decisionText, "RateLimit", `"tokens";r=9;t=5`},
	}
	server := &told{}
	server.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		server.mutex.Lock()
		server.seen = append(server.seen, request)
		server.mutex.Unlock()
		answer := answers[request.URL.Path]
		if answer.field != "" {
			writer.Header().Set(answer.field, answer.value)
		}
		writer.WriteHeader(answer.status)
		fmt.Fprint(writer, answer.text)
	}))
	t.Cleanup(server.Close)
	return server
}

func (s *told) paths() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	paths := []string{}
	for _, request := range s.seen {
		paths = append(paths, request.URL.Path)
	}
	return paths
}

func client(t *testing.T, options Options) *Client {
	t.Helper()
	options.Token = "secret"
	if options.Fail == "" {
		options.Fail = Closed
	}
	if options.TimeoutMs == 0 {
		options.TimeoutMs = 5_000
	}
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

var (
	background = context.Background()
	question   = Question{Tenant: "acme", Item: Item{Budget: "tokens"}}
)

func TestAnAnswerThatIsNotWeirSIsNoDecision(t *testing.T) {
	server := serve(t)
	for path, status := range map[string]int{"page": 200, "other": 200, "deep": 200, "huge": 0, "gateway": 502, "busy": 429} {
		decision, err := client(t, Options{URL: server.URL + "/" + path}).Check(background, question)
		if err != nil || decision.Cause == nil {
			t.Fatal(path, err, decision)
		}
		equal(t, []any{decision.Allowed, decision.Reason, decision.Cause.Status}, []any{false, Unreachable, status}, path)
	}
}

func TestADenialInWeirSPlaceSaysWhenToComeBackAndALongPauseIsNotWaitedFor(t *testing.T) {
	server, start := serve(t), time.Now()
	decision, err := client(t, Options{URL: server.URL + "/busy", Retries: 3}).Check(background, question)
	equal(t, []any{*decision.RetryAfterMs, err, server.paths()}, []any{int64(7_000), nil, []string{"/busy/v1/check"}})
	if time.Since(start) > 4*time.Second {
		t.Error("it waited")
	}
	decision, _ = client(t, Options{URL: server.URL + "/gateway"}).Check(background, question)
	equal(t, *decision.RetryAfterMs, int64(1_000))
}

func TestTheTokenGoesNowhereElseAndAWrongAddressIsAnError(t *testing.T) {
	server := serve(t)
	for _, one := range []struct {
		path   string
		status int
	}{{"moved", 307}, {"lost", 404}} {
		_, err := client(t, Options{URL: server.URL + "/" + one.path}).Check(background, question)
		var told *Error
		if !errors.As(err, &told) {
			t.Fatal(err)
		}
		equal(t, []any{told.Status, told.Type}, []any{one.status, blank})
	}
	equal(t, server.paths(), []string{"/moved/v1/check", "/lost/v1/check"})
}

func TestABatchThatIsAnsweredInPartIsNotAnsweredAndOneThatIsRefusedIsRefusedToAll(t *testing.T) {
	server := serve(t)
	for _, one := range client(t, Options{URL: server.URL + "/few"}).Batch(background, []Question{question, question}) {
		equal(t, []any{one.Decision.Reason, one.Err}, []any{Unreachable, nil})
	}
	refused := client(t, Options{URL: server.URL + "/wrong", Fail: Open})
	for _, one := range refused.Batch(background, []Question{question, question}) {
		equal(t, asError(one.Err).Status, 401)
	}
	equal(t, len(refused.Batch(background, nil)), 0)
}

func TestHooksSeeEachRequestWithoutTheTokenAndMayAddFields(t *testing.T) {
	server, heard := serve(t), []string{}
	hooks := Hooks{
		Request: func(event *RequestEvent) {
			equal(t, event.Header.Get("Authorization"), "")
			event.Header.Set("traceparent", "00-1-2-01")
			event.Header.Set("Authorization", "Bearer another")
			heard = append(heard, fmt.Sprint(event.Attempt, event.Path, len(event.Header.Get("Idempotency-Key"))))
		},
		Response: func(event ResponseEvent) {
			heard = append(heard, fmt.Sprint(event.Status, asError(event.Err).Status, event.Request.Attempt))
		},
	}
	_, err := client(t, Options{URL: server.URL + "/gateway", Retries: 1, Hooks: hooks}).Check(background, question)
	expected := []string{"1/v1/check32", "502 502 1", "2/v1/check32", "502 502 2"}
	equal(t, []any{heard, err}, []any{expected, error(nil)})
	keys := map[string]bool{}
	for _, request := range server.seen {
		equal(t, request.Header["Authorization"], []string{"Bearer secret"})
		equal(t, request.Header.Get("traceparent"), "00-1-2-01")
		keys[request.Header.Get("Idempotency-Key")] = true
	}
	equal(t, len(keys), 1)
}

func TestADenialTellsTheIDThatLeadsToItsExplanation(t *testing.T) {
	_, err := client(t, Options{URL: serve(t).URL + "/denied/"}).Check(background, question)
	var told *Error
	if !errors.As(err, &told) {
		t.Fatalf("no error of Weir's: %v", err)
	}
	equal(t, told.Decision, "5.x")
	equal(t, told.at("/x").Decision, "5.x")
}

func TestWhatANewerWeirAddsIsLeftOutAndItsRateLimitFieldsAreKept(t *testing.T) {
	decision, err := client(t, Options{URL: serve(t).URL + "/newer/"}).Check(background, question)
	equal(t, []any{decision.Remaining, err, decision.Headers}, []any{int64(9), nil, http.Header{"Ratelimit": {`"tokens";r=9;t=5`}}})
}

// silent is where everything is taken, and nothing answered.
func silent(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String()
}

func TestACallThatNobodyAnswersIsDecidedByFailWhenItsTimeIsOver(t *testing.T) {
	url, start := silent(t), time.Now()
	decision, err := client(t, Options{URL: url, Fail: Open, TimeoutMs: 150}).Check(background, question)
	took := time.Since(start)
	told := []any{decision.Allowed, *decision.RetryAfterMs, decision.Cause.Status, decision.Cause.Detail, err}
	equal(t, told, []any{true, int64(0), 0, "The deadline passed.", nil})
	if took < 140*time.Millisecond || took > 5*time.Second {
		t.Error(took)
	}
	decision, _ = client(t, Options{URL: url, TimeoutMs: 150}).Check(background, question)
	equal(t, []any{decision.Allowed, *decision.RetryAfterMs}, []any{false, int64(1_000)})
}

func TestATryThatHangsLeavesTimeForTheNextWithTheSameKeyAndABatchIsNotTriedAgain(t *testing.T) {
	keys := []string{}
	hooks := Hooks{Request: func(event *RequestEvent) { keys = append(keys, event.Header.Get("Idempotency-Key")) }}
	asking := client(t, Options{URL: silent(t), Fail: Open, TimeoutMs: 900, Retries: 2, Hooks: hooks})
	_, err := asking.Check(background, question)
	equal(t, []any{err, len(keys), keys[0] == keys[2]}, []any{nil, 3, true})
	keys = nil
	none := 0
	own, err := asking.With(CallOptions{TimeoutMs: 100, Retries: &none, IdempotencyKey: "mine"})
	equal(t, err, error(nil))
	_, err = own.Check(background, question)
	equal(t, []any{keys, err}, []any{[]string{"mine"}, nil})
	keys = nil
	for _, one := range asking.Batch(background, []Question{question, question}) {
		equal(t, one.Decision.Reason, Unreachable)
	}
	equal(t, keys, []string{""})
}

func TestAContextEndsACallWithItsOwnCause(t *testing.T) {
	why := errors.New("the client left")
	ctx, cancel := context.WithCancelCause(background)
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	_, err := client(t, Options{URL: silent(t), Fail: Open, TimeoutMs: 60_000}).Check(ctx, question)
	equal(t, err, why)
}

func TestWhatIsNotSaidForEverIsNoErrorAndWhatFailOpenedRuns(t *testing.T) {
	paths := []string{}
	hooks := Hooks{Request: func(event *RequestEvent) { paths = append(paths, event.Path) }}
	asking := client(t, Options{URL: silent(t), Fail: Open, TimeoutMs: 60, Hooks: hooks})
	place, err := asking.Place(background, PlaceQuestion{Limit: "shape"})
	equal(t, []any{place.Accepted, err}, []any{true, nil})
	settled, err := asking.Settle(background, "r", 1)
	equal(t, []any{settled == nil, err}, []any{true, nil})
	state, err := asking.Release(background, "g", "s")
	equal(t, []any{state == nil, err}, []any{true, nil})
	reported, err := asking.Report(background, "origin", "acme", Success)
	equal(t, []any{reported, err}, []any{false, nil})
	// Nothing was charged, so there is nothing to settle or to give back.
	paths = nil
	ran := 0
	_, err = asking.Reserve(background, question, func(_ context.Context, reservation *Reservation) error {
		reservation.Used(3)
		ran++
		return nil
	})
	equal(t, err, error(nil))
	_, err = asking.Acquire(background, "acme", "calls", func(ctx context.Context, _ Decision) error {
		ran++
		return ctx.Err()
	})
	equal(t, []any{ran, err, paths}, []any{2, nil, []string{"/v1/check", "/v1/check"}})
}

func TestOptionsThatMakeNoSenseAreRefusedByName(t *testing.T) {
	sound := Options{URL: "https://example.com", Token: "t", Fail: Open}
	for _, one := range []struct {
		name   string
		change func(*Options)
	}{
		{"Fail", func(o *Options) { o.Fail = "" }},
		{"Token", func(o *Options) { o.Token = "" }},
		{"Token", func(o *Options) { o.Token = "two words" }},
		{"URL", func(o *Options) { o.URL = "ftp://example.com" }},
		{"URL", func(o *Options) { o.URL = "example.com" }},
		{"URL", func(o *Options) { o.URL = "https://name:word@example.com" }},
		{"TimeoutMs", func(o *Options) { o.TimeoutMs = -1 }},
		{"Retries", func(o *Options) { o.Retries = 11 }},
		{"BatchMs", func(o *Options) { o.BatchMs = -1 }},
	} {
		options := sound
		one.change(&options)
		_, err := New(options)
		var told *OptionError
		if !errors.As(err, &told) || told.Name != one.name {
			t.Error(one.name, err)
		}
	}
	asking, _ := New(sound)
	_, err := asking.With(CallOptions{IdempotencyKey: "\n"})
	equal(t, strings.HasPrefix(fmt.Sprint(err), "IdempotencyKey: "), true)
}

func TestAQuestionIsWordedAsTheInterfaceWordsIt(t *testing.T) {
	checks := []Item{{Budget: "tokens", Cost: Units(7)}, {Limit: "per_ip", Key: "k"}, {Guard: "calls"}, {Overload: "o", Cost: Units(9)}}
	several := Question{Tenant: "acme", Checks: checks}
	text, err := json.Marshal(several)
	expected := `{"tenant":"acme","checks":[{"budget":"tokens","cost":7},{"limit":"per_ip","key":"k"},{"guard":"calls"},{"overload":"o","cost":9}]}`
	equal(t, []any{string(text), err}, []any{expected, nil})
	equal(t, []any{several.units(), several.guard()}, []any{int64(7), "calls"})
	equal(t, Question{Item: Item{Meters: map[string]int64{"a": 2, "b": 5}}}.units(), int64(5))
	text, _ = json.Marshal(Question{Item: Item{Budget: "b", Cost: Units(0)}})
	equal(t, string(text), `{"budget":"b","cost":0}`)
}
