package gemini

import (
	"parley/providers/llm"
)

// Body returns exactly the body that Stream would send for req.
func (m *Model) Body(req llm.Request) ([]byte, error) {
	body, _ := m.compile(req, false)
	data, err := encode(body)
	return data.Bytes(), err
}
