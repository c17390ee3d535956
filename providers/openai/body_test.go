package openai

import (
	"parley/providers/adapter"
	"parley/providers/llm"
)

// Body returns exactly the body that Stream would send for req.
func (e *endpoint) Body(req llm.Request) ([]byte, error) {
	body, _ := e.format.compile(req, false)
	data, err := adapter.EncodeBody(body, false)
	return data.Bytes(), err
}

// Body returns exactly the body that Stream would send for req.
func (g *Grok) Body(req llm.Request) ([]byte, error) {
	if req.Web {
		return g.web.Body(req)
	}
	return g.Chat.Body(req)
}
