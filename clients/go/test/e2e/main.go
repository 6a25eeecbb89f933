// What an application does with the Go client, and what it saw: the scripts of the other clients, by their names.
//
//	BASE=http://127.0.0.1:8787 TOKEN=... e2e check
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"weir"
)

const tenant = "acme"

type object = map[string]any

var background = context.Background()

func main() {
	scripts := map[string]func() error{
		"acquire": acquire, "batch": batch, "check": check, "interface": names, "outage": outage, "readme": readme,
		"reserve": reserve, "retry": retry, "settle-again": settleAgain,
	}
	script := scripts[os.Args[1]]
	if script == nil {
		fmt.Fprintln(os.Stderr, "there is no script", os.Args[1])
		os.Exit(2)
	}
	if err := script(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// readme is the example of the README: a test compares the lines.
func readme() error {
	ctx, url, token := background, os.Getenv("BASE"), os.Getenv("TOKEN")
	// README
	client, err := weir.New(weir.Options{URL: url, Token: token, Fail: weir.Open})
	question := weir.Question{Tenant: "acme", Item: weir.Item{Budget: "tokens", Cost: weir.Units(3)}}
	if err == nil {
		decision, err := client.Check(ctx, question)
		fmt.Println(decision.Allowed, decision.Remaining, decision.Reason, err)
	}
	// README
	return err
}

// options are those of a client that is patient: the machine may be busy.
func options(fail weir.Fail) weir.Options {
	return weir.Options{URL: os.Getenv("BASE"), Token: os.Getenv("TOKEN"), Fail: fail, TimeoutMs: 20_000}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func tell(value any) error {
	text, err := json.Marshal(value)
	fmt.Println(string(text))
	return err
}

func tokens(cost int64) weir.Question {
	return weir.Question{Tenant: tenant, Item: weir.Item{Budget: "tokens", Cost: weir.Units(cost)}}
}

// left is what is left of the budget of acme, in units.
func left(client *weir.Client) int64 {
	return must(client.Check(background, tokens(0))).Remaining
}

// settledLeft asks until so many units are left, for ten seconds at most: an isolate hears of a settlement only with its next
// contact.
func settledLeft(client *weir.Client, due int64) int64 {
	end := time.Now().Add(10 * time.Second)
	for {
		units := left(client)
		if units == due || time.Now().After(end) {
			return units
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// plain is an answer, or what an error says of itself.
func plain(answer any, err error) any {
	var told *weir.Error
	if !errors.As(err, &told) {
		return answer
	}
	field := any(told.Field)
	if told.Field == "" {
		field = nil
	}
	return object{"status": told.Status, "type": told.Type, "title": told.Title, "detail": told.Detail, "field": field}
}

// note is what hooks heard.
type note struct {
	path    string
	attempt int
	body    string
	sent    time.Time
	status  int
	answer  bool
}

// notes are what hooks heard, in its order.
type notes struct {
	mutex sync.Mutex
	heard []note
}

func (n *notes) add(one note) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.heard = append(n.heard, one)
}

// take is all of it, which is forgotten.
func (n *notes) take() []note {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	heard := n.heard
	n.heard = nil
	return heard
}

func (n *notes) hooks() weir.Hooks {
	of := func(event *weir.RequestEvent) note {
		return note{path: event.Path, attempt: event.Attempt, body: event.Body, sent: time.Now()}
	}
	return weir.Hooks{
		Request: func(event *weir.RequestEvent) { n.add(of(event)) },
		Response: func(event weir.ResponseEvent) {
			one := of(event.Request)
			one.status, one.answer = event.Status, true
			n.add(one)
		},
	}
}

// paths are where requests went.
func (n *notes) paths() []string {
	paths := []string{}
	for _, one := range n.take() {
		if !one.answer {
			paths = append(paths, one.path)
		}
	}
	return paths
}

// settled is what settlements said.
func (n *notes) settled() []int64 {
	settled := []int64{}
	for _, one := range n.take() {
		var body struct{ Actual int64 }
		if one.path == "/v1/settle" && !one.answer && json.Unmarshal([]byte(one.body), &body) == nil {
			settled = append(settled, body.Actual)
		}
	}
	return settled
}

func heard(change func(*weir.Options)) (*weir.Client, *notes) {
	heard := &notes{}
	options := options(weir.Closed)
	options.Hooks = heard.hooks()
	if change != nil {
		change(&options)
	}
	return must(weir.New(options)), heard
}

// check asks checks of every kind, denied ones, and such as are wrong.
func check() error {
	client := must(weir.New(options(weir.Closed)))
	told := object{}
	put := func(name string, question weir.Question) weir.Decision {
		decision, err := client.Check(background, question)
		told[name] = plain(decision, err)
		return decision
	}
	of := func(item weir.Item) weir.Question { return weir.Question{Tenant: tenant, Item: item} }
	put("budget", tokens(3))
	put("denied", tokens(998))
	put("never", tokens(1_001))
	put("limit", weir.Question{Item: weir.Item{Limit: "per_ip", Key: "203.0.113.9"}})
	keys := map[string]string{"ip": "203.0.113.9", "user": "bob"}
	put("login", weir.Question{Item: weir.Item{Limit: "login", Keys: keys}})
	put("meter", of(weir.Item{Meter: "results", Cost: weir.Units(20)}))
	put("meters", of(weir.Item{Meters: map[string]int64{"results": 2, "bytes": 4_096}}))
	guard := put("guard", of(weir.Item{Guard: "calls"}))
	told["released"] = must(client.Release(background, "calls", guard.Slot))
	put("overload", of(weir.Item{Overload: "origin"}))
	told["reported"] = must(client.Report(background, "origin", tenant, weir.Success))
	checks := []weir.Item{{Budget: "tokens", Cost: weir.Units(7)}, {Limit: "per_ip", Key: "203.0.113.9"}, {Overload: "origin"}}
	put("several", weir.Question{Tenant: tenant, Checks: checks})
	place := weir.PlaceQuestion{Limit: "shape", Key: "k"}
	told["place"] = must(client.Place(background, place))
	told["queued"] = must(client.Place(background, place))
	told["left"] = left(client)

	wrong := []weir.Item{{Budget: "tokens"}, {Limit: "per_ip", Key: "k", Cost: weir.Units(-1)}}
	put("invalid", weir.Question{Tenant: tenant, Checks: wrong})
	put("unknown", of(weir.Item{Budget: "none"}))
	stranger := options(weir.Closed)
	stranger.Token = "nobody"
	told["stranger"] = plain(must(weir.New(stranger)).Check(background, tokens(1)))
	return tell(told)
}

// batch asks fifty checks in one request, and some of them at fault.
func batch() error {
	// Long enough for a busy machine to ask fifty times.
	client, heard := heard(func(options *weir.Options) { options.BatchMs = 1_000 })
	// One after another, so that they have an order: on one processor each waits for its answer before the next one asks.
	ask := func(questions []weir.Question) []weir.Result {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		results := make([]weir.Result, len(questions))
		var all sync.WaitGroup
		for index, question := range questions {
			all.Add(1)
			go func() {
				defer all.Done()
				results[index].Decision, results[index].Err = client.Check(background, question)
			}()
			runtime.Gosched()
		}
		all.Wait()
		return results
	}
	told := object{}
	fifty := make([]weir.Question, 50)
	for index := range fifty {
		fifty[index] = tokens(2)
	}
	remaining, allowed := []int64{}, 0
	for _, one := range ask(fifty) {
		remaining = append(remaining, one.Decision.Remaining)
		if one.Decision.Allowed {
			allowed++
		}
	}
	told["remaining"], told["allowed"], told["requests"] = remaining, allowed, heard.paths()

	mixed := func(cost int64) []weir.Question {
		none := weir.Question{Tenant: tenant, Item: weir.Item{Budget: "none", Cost: weir.Units(cost)}}
		nobody := weir.Question{Item: weir.Item{Budget: "tokens", Cost: weir.Units(cost)}}
		return []weir.Question{tokens(cost), none, tokens(cost), nobody, tokens(cost)}
	}
	answers := []any{}
	for _, one := range ask(mixed(2)) {
		if one.Err == nil {
			answers = append(answers, object{"answered": one.Decision})
		} else {
			answers = append(answers, plain(nil, one.Err))
		}
	}
	told["mixed"], told["retried"] = answers, heard.paths()

	told["alone"] = must(client.Check(background, tokens(2))).Remaining
	told["single"] = heard.paths()

	// A batch of 1,500 is more than Weir takes at once.
	many := map[string]int{}
	lots := make([]weir.Question, 1_500)
	for index := range lots {
		lots[index] = tokens(0)
	}
	for _, one := range client.Batch(background, lots) {
		word := string(must(one.Decision, one.Err).Reason)
		if one.Decision.Cause != nil {
			word += " " + one.Decision.Cause.Error()
		}
		many[word]++
	}
	told["many"], told["cut"] = many, heard.paths()

	// The same in one call, where errors stand in the places of decisions.
	listed := []any{}
	for _, one := range must(weir.New(options(weir.Closed))).Batch(background, mixed(0)) {
		var wrong *weir.Error
		if errors.As(one.Err, &wrong) {
			listed = append(listed, wrong.Status)
		} else {
			listed = append(listed, one.Decision.Reason)
		}
	}
	told["listed"] = listed
	return tell(told)
}

// reserve makes reservations, settled when their scope ends, however it ends.
func reserve() error {
	client, heard := heard(nil)
	told := object{}
	scope := func(name string, due int64, question weir.Question, run func(*weir.Reservation) (any, error)) {
		var value any
		decision, err := client.Reserve(background, question, func(_ context.Context, reservation *weir.Reservation) error {
			var err error
			value, err = run(reservation)
			return err
		})
		one := object{"allowed": decision.Allowed, "value": value, "settled": heard.settled(), "left": settledLeft(client, due)}
		if err != nil {
			one["thrown"] = err.Error()
		}
		told[name] = one
	}
	scope("used", 970, tokens(100), func(reservation *weir.Reservation) (any, error) {
		reservation.Used(10)
		reservation.Used(30)
		return "answer", nil
	})
	scope("silent", 870, tokens(100), func(*weir.Reservation) (any, error) { return "answer", nil })
	scope("threw", 870, tokens(100), func(*weir.Reservation) (any, error) { return nil, errors.New("before a word") })
	scope("threwLate", 850, tokens(100), func(reservation *weir.Reservation) (any, error) {
		reservation.Used(20)
		return nil, errors.New("after a word")
	})
	scope("beyond", 700, tokens(100), func(reservation *weir.Reservation) (any, error) {
		reservation.Used(150)
		return nil, nil
	})
	scope("denied", 700, tokens(5_000), func(*weir.Reservation) (any, error) { return nil, errors.New("it is not called") })
	checks := []weir.Item{{Budget: "tokens", Cost: weir.Units(100)}, {Limit: "per_ip", Key: "k"}, {Guard: "calls"}}
	guard := weir.Question{Tenant: tenant, Item: weir.Item{Guard: "calls"}}
	scope("several", 650, weir.Question{Tenant: tenant, Checks: checks}, func(reservation *weir.Reservation) (any, error) {
		reservation.Used(50)
		return must(client.Check(background, guard)).Reason, nil
	})
	must(client.Acquire(background, tenant, "calls", func(context.Context, weir.Decision) error {
		told["free"] = "mine"
		return nil
	}))
	heard.take()
	must(client.Reserve(background, tokens(100), func(_ context.Context, reservation *weir.Reservation) error {
		reservation.Used(40)
		told["block"] = reservation.Decision.Allowed
		return nil
	}))
	told["blockSettled"], told["left"] = heard.settled(), settledLeft(client, 610)
	// A context that ends in its scope settles all the same, to what was said.
	ctx, cancel := context.WithCancel(background)
	_, err := client.Reserve(ctx, tokens(100), func(ctx context.Context, reservation *weir.Reservation) error {
		reservation.Used(1)
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("it was cancelled: %w", err)
	}
	told["cancelled"] = heard.settled()
	return tell(told)
}

// settleAgain settles, and the first answer is lost on its way: it is told again whatever the options say.
func settleAgain() error {
	client := must(weir.New(options(weir.Closed)))
	must(client.Reserve(background, tokens(100), func(_ context.Context, reservation *weir.Reservation) error {
		reservation.Used(30)
		return nil
	}))
	return tell(object{"value": nil, "left": settledLeft(client, 970)})
}

// acquire keeps a slot for longer than its lease, gives one back, and loses one.
func acquire() error {
	client, heard := heard(nil)
	told := object{}
	other := func() weir.Reason {
		none := func(context.Context, weir.Decision) error { return nil }
		return must(client.Acquire(background, tenant, "calls", none)).Reason
	}
	must(client.Acquire(background, tenant, "calls", func(ctx context.Context, _ weir.Decision) error {
		// Longer than the lease of six seconds.
		time.Sleep(8 * time.Second)
		told["held"] = object{"lost": ctx.Err() != nil, "other": other()}
		return nil
	}))
	renewals, last := 0, ""
	for _, one := range heard.take() {
		if one.answer {
			last = fmt.Sprintf("%s %d", one.path, one.status)
			if last == "/v1/guards/calls/renew 200" {
				renewals++
			}
		}
	}
	told["renewals"], told["released"] = renewals, last

	_, err := client.Acquire(background, tenant, "calls", func(context.Context, weir.Decision) error {
		return errors.New("inside")
	})
	told["thrown"] = err.Error()
	block := []weir.Reason{}
	must(client.Acquire(background, tenant, "calls", func(_ context.Context, decision weir.Decision) error {
		block = append(block, decision.Reason, other())
		return nil
	}))
	told["block"] = append(block, other())

	_, err = client.Acquire(background, tenant, "calls", func(ctx context.Context, decision weir.Decision) error {
		// Somebody else gives it back.
		must(client.Release(background, "calls", decision.Slot))
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Second):
		}
		heard.take()
		return context.Cause(ctx)
	})
	var lost *weir.SlotLost
	if !errors.As(err, &lost) {
		return fmt.Errorf("the slot is not lost: %w", err)
	}
	told["lost"], told["after"] = lost.Error(), heard.paths()
	return tell(told)
}

// retry asks a check whose first answer is lost on its way.
func retry() error {
	client, heard := heard(nil)
	tries := func() ([]object, float64) {
		told, sent := []object{}, []time.Time{}
		for _, one := range heard.take() {
			if one.answer {
				told = append(told, object{"path": one.path, "attempt": one.attempt, "status": one.status})
			} else {
				sent = append(sent, one.sent)
			}
		}
		if len(sent) < 2 {
			return told, 0
		}
		return told, float64(sent[1].Sub(sent[0]).Microseconds()) / 1_000
	}
	two := 2
	twice := must(client.With(weir.CallOptions{Retries: &two}))
	decision := must(twice.Check(background, tokens(30)))
	told := object{"check": object{"allowed": decision.Allowed, "remaining": decision.Remaining}}
	told["tries"], told["apart_ms"] = tries()
	told["left"] = left(client)
	heard.take()
	once := must(client.Check(background, tokens(30)))
	told["once"] = object{"allowed": once.Allowed, "reason": once.Reason}
	told["onceTries"], _ = tries()
	told["end"] = left(client)
	return tell(told)
}

// outage is when Weir is killed in the middle of it all, and comes back.
func outage() error {
	of := func(fail weir.Fail, batchMs int64) *weir.Client {
		options := options(fail)
		options.TimeoutMs, options.Retries, options.BatchMs = 15_000, 1, batchMs
		return must(weir.New(options))
	}
	open, closed, batching := of(weir.Open, 0), of(weir.Closed, 0), of(weir.Open, 20)
	const cost = 5
	// What each client makes of it.
	ask := func() []object {
		decisions := make([]weir.Decision, 4)
		var both sync.WaitGroup
		for _, index := range []int{2, 3} {
			both.Add(1)
			go func() {
				defer both.Done()
				decisions[index] = must(batching.Check(background, tokens(cost)))
			}()
		}
		both.Wait()
		decisions[0], decisions[1] = must(open.Check(background, tokens(cost))), must(closed.Check(background, tokens(cost)))
		told := []object{}
		for _, one := range decisions {
			word := object{"allowed": one.Allowed, "reason": one.Reason, "retry_after_ms": one.RetryAfterMs}
			if one.Cause != nil {
				word["cause"] = one.Cause.Title
			}
			told = append(told, word)
		}
		return told
	}
	lines := bufio.NewReader(os.Stdin)
	nextLine := func() { _, _ = lines.ReadString('\n') }
	if err := tell(ask()); err != nil {
		return err
	}

	// Checks never stop meanwhile: none of them is an error, and each is answered one way or the other.
	stop := make(chan struct{})
	var traffic sync.WaitGroup
	var mutex sync.Mutex
	reasons := map[string]bool{}
	passed := make(chan struct{})
	pass := sync.OnceFunc(func() { close(passed) })
	for range 4 {
		traffic.Add(1)
		go func() {
			defer traffic.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				decision := must(closed.Check(background, tokens(0)))
				mutex.Lock()
				reasons[fmt.Sprintf("%s %t", decision.Reason, decision.Allowed)] = true
				mutex.Unlock()
				if decision.Allowed {
					pass()
				}
			}
		}()
	}
	taken, lost := make(chan struct{}), make(chan string)
	go func() {
		decision, err := open.Acquire(background, tenant, "calls", func(ctx context.Context, _ weir.Decision) error {
			close(taken)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !decision.Allowed {
			panic("there is no slot")
		}
		lost <- err.Error()
	}()
	value := ""
	must(open.Reserve(background, tokens(cost), func(_ context.Context, reservation *weir.Reservation) error {
		// Weir dies once it is told: the slot is taken before, and a check has passed.
		<-taken
		<-passed
		if err := tell("reserved"); err != nil {
			return err
		}
		nextLine()
		reservation.Used(1)
		value = "kept"
		return nil
	}))
	if value == "" {
		return errors.New("nothing is reserved")
	}
	why := <-lost
	ran := []any{}
	for _, client := range []*weir.Client{open, closed} {
		var reserved, acquired any
		must(client.Reserve(background, tokens(cost), func(context.Context, *weir.Reservation) error {
			reserved = "ran"
			return nil
		}))
		must(client.Acquire(background, tenant, "calls", func(context.Context, weir.Decision) error {
			acquired = "ran"
			return nil
		}))
		ran = append(ran, reserved, acquired)
	}
	if err := tell(object{"value": value, "lost": why, "ran": ran, "asked": ask()}); err != nil {
		return err
	}

	nextLine()
	close(stop)
	traffic.Wait()
	words := []string{}
	for word := range reasons {
		words = append(words, word)
	}
	return tell(object{"asked": ask(), "reasons": words})
}
