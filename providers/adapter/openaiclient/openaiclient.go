// Package openaiclient configures OpenAI's SDK for a service: for chat completions, Responses, images and
// embeddings.
package openaiclient

import (
	"net/http"
	"os"

	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
)

// Host is OpenAI's own host.
const Host = "api.openai.com"

// Options returns the options for an SDK service made as a literal, to send requests to the server
// of o, whose client must be set. The literal avoids sdk.NewClient, which reads a base URL, keys
// and headers from the environment that belong to OpenAI, not to this server.
func Options(o adapter.Options) []option.RequestOption {
	key := o.Key
	if key == "" {
		key = "none" // the SDK requires a key
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

// An Unclosed is the response to a call of the SDK, which, up to 3.78, does not close it if the
// context ends just as it arrives. The zero value has none.
type Unclosed struct{ res *http.Response }

// Option returns an option for the call, to be given before other middleware.
func (u *Unclosed) Option() option.RequestOption {
	return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (res *http.Response, err error) {
		res, err = next(r)
		u.res = res
		return res, err
	})
}

// Close closes the response, if any. It must be called if the call failed; the response may be
// closed already.
func (u *Unclosed) Close() {
	if u.res != nil && u.res.Body != nil {
		_ = u.res.Body.Close()
	}
}
