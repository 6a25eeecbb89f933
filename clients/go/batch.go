package weir

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// batchBounds is what Weir takes of a batch: 1,000 questions, and 64 KiB with the 15 bytes around them.
var batchBounds = bounds{questions: 1_000, bytes: 64*1024 - 15}

// Where the question at fault is named.
var at = regexp.MustCompile(`^/requests/(\d{1,9})(/.*)?$`)

type decisions struct {
	Decisions []Decision `json:"decisions"`
}

func (d decisions) sound() bool {
	return !slices.ContainsFunc(d.Decisions, func(one Decision) bool { return !one.sound() })
}

// decide decides a batch, and answers all that wait. Each asker's own context ends its own wait alone.
func decide(over *connection, batch []*waiting) {
	deadline := time.Now().Add(milliseconds(over.timeoutMs))
	// A question at fault has the batch refused, and nothing charged. It is told, and the others are asked again: at worst as many
	// requests as there are questions.
	for len(batch) > 0 {
		left := max(1, time.Until(deadline).Milliseconds())
		told, err := ask(over, batch, CallOptions{TimeoutMs: left})
		if err == nil {
			for index, one := range batch {
				one.answer <- Result{Decision: told[index]}
			}
			return
		}
		index, field := faultIn(err, len(batch))
		if index < 0 {
			answerAll(over, batch, err)
			return
		}
		batch[index].answer <- Result{Err: asError(err).at(field)}
		batch = slices.Delete(slices.Clone(batch), index, index+1)
	}
}

// ask asks: a question that has no company is an ordinary check.
func ask(over *connection, batch []*waiting, options CallOptions) ([]Decision, error) {
	ctx := context.Background()
	if len(batch) == 1 {
		decision, headers, err := send(ctx, over, checkCall(batch[0].text), options)
		decision.Headers = passedOn(headers)
		return []Decision{decision}, err
	}
	texts := make([]string, len(batch))
	for index, one := range batch {
		texts[index] = one.text
	}
	body := `{"requests":[` + strings.Join(texts, ",") + `]}`
	told, _, err := send(ctx, over, call[decisions]{path: "/v1/check/batch", body: body, again: never}, options)
	if err == nil && len(told.Decisions) != len(batch) {
		return nil, notWeir(200, fmt.Sprintf("%d decisions", len(told.Decisions)))
	}
	return told.Decisions, err
}

// checkCall is one check, which may be tried again.
func checkCall(body string) call[Decision] {
	return call[Decision]{path: "/v1/check", body: body, again: byKey}
}

func asError(err error) *Error {
	var told *Error
	if errors.As(err, &told) {
		return told
	}
	return noAnswer(err.Error(), err)
}

// faultIn is which question is at fault, and where in it; -1 for none.
func faultIn(err error, count int) (int, string) {
	told := asError(err)
	named := at.FindStringSubmatch(told.Field)
	if told.Unreachable() || named == nil {
		return -1, ""
	}
	index, err := strconv.Atoi(named[1])
	if err != nil || index >= count {
		return -1, ""
	}
	return index, named[2]
}

func answerAll(over *connection, batch []*waiting, err error) {
	for _, one := range batch {
		if cause := unreachableCause(err); cause != nil {
			one.answer <- Result{Decision: unreachableDecision(over.fail, cause, time.Now())}
		} else {
			one.answer <- Result{Err: err}
		}
	}
}
