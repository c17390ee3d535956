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

// Health is the state of one provider. It holds no secrets.
type Health struct {
	Provider   string        `json:"provider"`
	Kind       string        `json:"kind"`
	URL        string        `json:"url,omitempty"`     // or the path of the program
	Key        string        `json:"key,omitempty"`     // source of the key, such as "OPENAI_API_KEY"; "" if none is needed or found
	Reachable  bool          `json:"reachable"`         // it answered, even with an error
	Latency    time.Duration `json:"-"`                 // time until its answer; see LatencyMS
	LatencyMS  int64         `json:"latency_ms"`        //
	Models     int           `json:"models"`            // number of models; 0 if unknown
	Model      string        `json:"model,omitempty"`   // default model, as "provider/model"
	ModelFound bool          `json:"model_found"`       // the provider lists the default model
	Tools      string        `json:"tools,omitempty"`   // how the default model gets tools: "native", "prompt" or "none"; "" if unknown
	Version    string        `json:"version,omitempty"` // version of the program
	Fault      llm.Fault     `json:"fault,omitempty"`   // kind of failure; "" for none
	Error      string        `json:"error,omitempty"`   // message
	Hint       string        `json:"hint,omitempty"`    // next step for the user
	Err        error         `json:"-"`                 // Error, Fault and Hint as an error
}

// OK reports whether the provider is ready.
func (h Health) OK() bool { return h.Err == nil }

// IsProgram reports whether the provider is another agent's program.
func (h Health) IsProgram() bool {
	f, _ := familyOf(h.Kind)
	return f.Programs != nil
}

// checkTimeout bounds how long one provider may take to answer.
const checkTimeout = 10 * time.Second

// Check asks every provider that is configured or has a key, all at the same time. The result is in
// picker order and complete within about ten seconds. Check only lists models, which is free, and
// sends no prompt.
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

// fillDefaultModel fills in the fields about the default model.
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

// sameModel reports whether a server's id names a model, possibly followed by a date or tag, or
// preceded by the directory of its file.
func sameModel(listed, id string) bool {
	rest, ok := strings.CutPrefix(listed, id)
	return ok && (rest == "" || strings.HasPrefix(rest, "-20") || rest == ":latest") || strings.HasSuffix(listed, "/"+id)
}

// probe fetches the model list of a server, or the version of a program.
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
	case listsNone(s): // the ids are built in: nothing was sent
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

// hasNoList reports whether status only says that the server has no model list. Services known to
// have none refuse the request in their own ways.
func hasNoList(s service, status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	case http.StatusBadRequest, http.StatusForbidden:
		return listsNone(s)
	}
	return false
}

// exampleModel returns the name of a model of s, or a placeholder.
func exampleModel(s service) string {
	return s.name + "/" + cmp.Or(s.defaultModel(), s.firstModel(), "MODEL")
}
