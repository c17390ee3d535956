package providers

import (
	"context"
	"errors"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// informed adds to a model what the catalog knows of it: the cost of an answer
// whose provider did not report one, nearby names when the provider does not
// know it, and other addresses of the service where its key may be good.
type informed struct {
	llm.Model
	price   catalog.Price
	service service
	id      string
}

func (m *informed) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for event, err := range m.Model.Stream(ctx, req) {
			if usage, ok := event.(llm.Usage); ok && !usage.Priced {
				usage.Cost, usage.Priced = m.price.Cost(usage)
				event = usage
			}
			if !yield(event, m.explain(err)) {
				return
			}
		}
	}
}

// explain adds to an error what may help.
func (m *informed) explain(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.ModelNotFound {
		return m.service.elsewhere(err)
	}
	hint := "fetch it with: ollama pull " + m.id
	if m.service.kind != "ollama" {
		near := catalog.Near(m.id, m.service.models(), 3)
		if len(near) == 0 {
			return err
		}
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	}
	told := *e
	told.Message = strings.TrimRight(told.Message, ".!?; ") + "; " + hint
	return &told
}
