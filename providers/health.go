package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
)

// Health is how it stands with one provider. It holds no secrets.
type Health struct {
	Provider   string        `json:"provider"`
	Kind       string        `json:"kind"`
	URL        string        `json:"url,omitempty"`     // or the path of the program
	Key        string        `json:"key,omitempty"`     // where it was found, such as "OPENAI_API_KEY"; "" if none is needed or there is none
	Reachable  bool          `json:"reachable"`         // it answered, if only to refuse
	Latency    time.Duration `json:"-"`                 // of its answer; see LatencyMS
	LatencyMS  int64         `json:"latency_ms"`        //
	Models     int           `json:"models"`            // how many it has; 0 if it did not say
	Model      string        `json:"model,omitempty"`   // the default one, as "provider/model"
	ModelFound bool          `json:"model_found"`       // the default one is among them
	Tools      string        `json:"tools,omitempty"`   // how the default one gets tools: "native", "prompt" or "none"; "" if nothing is known of it
	Version    string        `json:"version,omitempty"` // of a program
	Fault      llm.Fault     `json:"fault,omitempty"`   // what is wrong; "" if nothing is
	Error      string        `json:"error,omitempty"`   // in words
	Hint       string        `json:"hint,omitempty"`    // what to do about it
	Err        error         `json:"-"`                 // the same as an error
}

// OK reports whether the provider can be asked.
func (h Health) OK() bool { return h.Err == nil }

// IsProgram reports whether the provider is another agent's program.
func (h Health) IsProgram() bool {
	f, _ := familyOf(h.Kind)
	return f.Programs != nil
}

// checkTimeout bounds how long one provider may take to answer.
const checkTimeout = 10 * time.Second

// Check asks every provider that is configured, or has a key, whether it answers, all at once. The
// list is in the order of a picker, and complete within about ten seconds. It lists models, which
// costs nothing, and asks none.
func Check(ctx context.Context, c Config, o OpenOptions) []Health {
	o = o.withDefaults()
	var services []service
	for s := range c.services(o.Getenv) {
		if !s.row.isDemo && (s.configured || s.isFound() || s.missing() == "") {
			services = append(services, s)
		}
	}
	list := make([]Health, len(services))
	var wait sync.WaitGroup
	for i, s := range services {
		wait.Go(func() { list[i] = s.check(ctx, o) })
	}
	wait.Wait()
	return list
}

// check asks one provider.
func (s service) check(ctx context.Context, o OpenOptions) Health {
	h := Health{Provider: s.name, Kind: s.kind, URL: wire.Public(s.url), Key: s.key.name}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	start := time.Now()
	offers, err := s.probe(ctx, o, &h)
	h.Latency = time.Since(start)
	h.LatencyMS = h.Latency.Milliseconds()
	var apiErr *llm.Error
	h.Reachable = err == nil || errors.As(err, &apiErr) && apiErr.Status != 0
	switch {
	case err == nil:
	case apiErr != nil && hasNoList(s, apiErr.Status):
		h.Hint = fmt.Sprintf("It answers, but has no list of models, so its key is not checked: parley -m %s -p hi tries it", exampleModel(s))
		if apiErr.Status == http.StatusForbidden && apiErr.Message != "" {
			h.Hint += ". It said: " + apiErr.Message
		}
	default:
		h.fail(err)
	}
	o.Memory.recordListing(s, offers)
	h.Models = len(offers)
	h.fillDefaultModel(s, offers, o)
	if h.Err == nil && h.Models > 0 && h.Model != "" && !h.ModelFound {
		h.fail(&llm.Error{
			Fault: llm.ModelNotFound, Provider: s.name, URL: wire.Public(s.url),
			Message: "the server does not list " + strings.TrimPrefix(h.Model, s.name+"/"),
		})
	}
	return h
}

func (h *Health) fail(err error) {
	h.Err, h.Fault, h.Error, h.Hint = err, llm.FaultOf(err), err.Error(), llm.InShell.Hint(err)
}

// fillDefaultModel fills in what is known of the default model.
func (h *Health) fillDefaultModel(s service, offers []listedModel, o OpenOptions) {
	s = s.withList(offers)
	model := s.defaultModel()
	if len(offers) > 0 {
		model = cmp.Or(model, s.firstModel())
	}
	if model == "" {
		return
	}
	id := s.modelID(model)
	h.Model = s.name + "/" + s.shownID(id)
	h.ModelFound = slices.ContainsFunc(offers, func(o listedModel) bool { return sameModel(o.ID, id) })
	facts, known := s.facts(model, o.Memory)
	lesson := o.Memory.load(s.servedModel(model))
	if set := s.strategy(model, facts.Tools || !known && lesson.advertised.Tools == nil); set != auto {
		h.Tools = set
	} else if o.Memory.limits(s.servedModel(model), "").Has(learnedTools) {
		h.Tools = prompt
	} else if known || lesson.advertised.Tools != nil {
		h.Tools = native
	}
}

// sameModel reports whether a server's id names a model: with a date or a tag after
// it, or with the name of its file before it.
func sameModel(listed, id string) bool {
	rest, ok := strings.CutPrefix(listed, id)
	return ok && (rest == "" || strings.HasPrefix(rest, "-20") || rest == ":latest") || strings.HasSuffix(listed, "/"+id)
}

// probe asks the provider for its models: a server by its list, a program by
// its version.
func (s service) probe(ctx context.Context, o OpenOptions, h *Health) ([]listedModel, error) {
	if err := notReady(s); err != nil {
		return nil, err
	}
	if s.isProgram() {
		argv, err := s.program(o.Getenv)
		if err == nil {
			h.URL = argv[0]
			h.Version, err = s.family.Programs.Version(ctx, s.name, s.kind, argv)
		}
		if err != nil {
			return nil, s.listError(err)
		}
	}
	offers, err := s.listModels(ctx, o)
	switch check := keyCheckOf(s); {
	case err != nil || s.isProgram() || s.row.isDemo:
	case listsNone(s): // offers are built in: nothing was sent
		err = listing.ask(ctx, s, o)
	case s.key.name != "" && s.row.anyKey:
		refusal := check.ask(ctx, s, o)
		if verdict, _ := check.verdict(s, refusal); verdict == KeyRejected || llm.FaultOf(refusal) == llm.Quota {
			err = refusal
		}
	}
	if err != nil {
		err = s.listError(err)
	}
	return offers, err
}

// hasNoList reports whether an answer to the request for a list says nothing but that there is
// none. Those that are known to have none refuse it in their own ways.
func hasNoList(s service, status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusBadRequest, http.StatusForbidden:
		return listsNone(s)
	}
	return false
}

// exampleModel returns the name of a model of s, or the form of one.
func exampleModel(s service) string {
	return s.name + "/" + cmp.Or(s.defaultModel(), s.firstModel(), "MODEL")
}
