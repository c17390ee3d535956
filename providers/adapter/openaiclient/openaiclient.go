// Package openaiclient prepares OpenAI's SDK to ask a service, for chat completions and Responses as well as
// for images and embeddings.
package openaiclient

import (
	"net/http"
	"os"

	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
)

// Host is OpenAI's own.
const Host = "api.openai.com"

// Options returns what a service of the SDK, made as a literal, needs to ask the server
// of o, whose client is set. The literal keeps out what sdk.NewClient reads from the
// environment: a base URL, keys and headers that are OpenAI's, not this server's.
func Options(o adapter.Options) []option.RequestOption {
	key := o.Key
	if key == "" {
		key = "none" // the SDK sends no request without one
	}
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithAPIKey(key),
		option.WithMaxRetries(0),
		option.WithHTTPClient(o.HTTP),
	}
	if o.IsHost(Host) {
		if id := os.Getenv("OPENAI_ORG_ID"); id != "" {
			opts = append(opts, option.WithOrganization(id))
		}
		if id := os.Getenv("OPENAI_PROJECT_ID"); id != "" {
			opts = append(opts, option.WithProject(id))
		}
	}
	if o.KeyHeader != "" {
		opts = append(opts, option.WithHeaderDel("Authorization"))
	}
	for name, value := range o.RequestHeaders("") {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

// An Unclosed is the response to a call of the SDK, which up to 3.78 returns without closing it if
// the context ends as it comes. The zero value has none.
type Unclosed struct{ res *http.Response }

// Option returns an option for the call, to be given before other middleware.
func (u *Unclosed) Option() option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (res *http.Response, err error) {
		res, err = next(r)
		u.res = res
		return res, err
	})
}

// Close closes the response, if there was one, and has to be called where the call failed. It may
// have been closed before.
func (u *Unclosed) Close() {
	if u.res != nil && u.res.Body != nil {
		_ = u.res.Body.Close()
	}
}
