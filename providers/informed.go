package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// informed adds to a model what the catalog knows of it: the cost of an answer
// whose provider did not report one, and nearby names when the provider does not
// know it.
type informed struct {
	llm.Model
	price catalog.Price
	near  func() []string
}

func (m *informed) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return func(yield func(llm.Event, error) bool) {
		for event, err := range m.Model.Stream(ctx, req) {
			if usage, ok := event.(llm.Usage); ok && !usage.Priced {
				usage.Cost, usage.Priced = m.price.Cost(usage)
				event = usage
			}
			if !yield(event, m.suggest(err)) {
				return
			}
		}
	}
}

// suggest names models that exist, where the provider said this one does not.
func (m *informed) suggest(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.ModelNotFound {
		return err
	}
	near := m.near()
	if len(near) == 0 {
		return err
	}
	told := *e
	told.Message = fmt.Sprintf("%s; did you mean %s?", strings.TrimRight(told.Message, ".!?; "), strings.Join(near, ", "))
	return &told
}
