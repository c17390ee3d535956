package anthropic

import (
	"parley/providers/adapter"
	"parley/providers/llm"
)

// Body returns exactly the body that Stream would send for req.
func (m *Model) Body(req llm.Request) ([]byte, error) {
	body, _ := m.compile(req, attemptState{}, false)
	data, err := adapter.EncodeBody(body, false)
	return data.Bytes(), err
}
