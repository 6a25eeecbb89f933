package weir_test

import (
	"context"

	"weir"
)

// What the README shows beyond its first lines, with whatever stands around it in an application: it has to compile.

type completion struct{ TotalTokens int64 }

type completes struct{}

func (completes) Complete(context.Context, string) (completion, error) {
	return completion{TotalTokens: 12}, nil
}

func completed(ctx context.Context, client *weir.Client, question weir.Question, prompt string) (weir.Decision, error) {
	var model completes
	decision, err := client.Reserve(ctx, question, func(ctx context.Context, reservation *weir.Reservation) error {
		answer, err := model.Complete(ctx, prompt)
		if err == nil {
			reservation.Used(answer.TotalTokens)
		}
		return err
	})
	return decision, err
}
