package adapter

import (
	"context"
	"net/http"

	"parley/providers/llm"
)

// A Client posts JSON to one service. Anthropic and Gemini go over it: their SDKs
// take apart what has to come back byte for byte, and past those only an address
// and a few headers remain of them.
type Client struct {
	HTTP    *http.Client      // its transport turns what is not an answer into *llm.Error
	Headers map[string]string // go with every request
}

// Post sends body to url, with more headers if there are any; they
// win. The caller closes the body of the response. What cannot be a request is an
// *llm.Error with the fault llm.InvalidRequest; other errors are the transport's.
func (c Client) Post(ctx context.Context, url string, body Body, more map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, Unsendable(err)
	}
	body.PutInto(req)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	for _, headers := range []map[string]string{c.Headers, more} {
		for name, value := range headers {
			req.Header.Set(name, value)
		}
	}
	return c.HTTP.Do(req)
}

// Unsendable returns the *llm.Error of a request that could not be made.
func Unsendable(err error) error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: err.Error()}
}
