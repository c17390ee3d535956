package formats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/wire"
)

// A videoService describes the API of a kind of service: how to create a job, poll it, and download
// its result.
type videoService struct {
	kind   string
	models func(model string) bool  // reports whether the row is for a model; nil for all models without an earlier row
	root   func(base string) string // returns the part of the URL before paths; nil for the base URL
	key    string                   // header of the key; "" is Authorization
	create videoCreation
	job    videoState
	files  videoFiles
	bill   videoBill
	cancel string // method and path, with {id}; "" if a job cannot be canceled
}

// A videoCreation is the request that creates a job.
type videoCreation struct {
	header      [2]string // name and value of an extra header; "" for none
	request     func(model string, r works.VideoRequest) (path string, body map[string]any, err error)
	form        bool          // the body is a multipart form
	unsupported []videoOption // options that the service does not have
	id          string        // field path of the job id in the answer
	named       bool          // the id is a resource name with slashes
}

// The types below refer to values in answers by field paths: names separated by dots; a list stands
// for all its elements. "" is no value.

// A videoState says how to read the state of a job.
type videoState struct {
	address  string // URL path of the job, with {id}
	codes    string // prefix of the service's numeric error codes, which distinguishes them from those of others
	state    string // "" if done is used
	done     string // true once the job is over
	expired  string // a state that means expired, in addition to those of jobState
	progress string // percent
	failure  string // an object with code and message, or a string
}

// A videoFiles says where the files of a job are.
type videoFiles struct {
	urls      string // addresses of videos, or ids for lookup
	lookup    string // URL path, with {id}, that returns the address of a file; "" if urls are addresses
	found     string // address in the answer of lookup
	thumbnail string // addresses of preview images; "" if there are none
	content   string // URL path of the video at the service itself, with {id} and {index}; "" if there are urls
	variants  bool   // content has variants, selected with variant=
	filtered  string // reasons for withheld videos
	moderated string // false if the video was withheld
}

// A videoBill says how to read the cost of a job.
type videoBill struct {
	cost    string  // in US dollars
	ticks   float64 // cost is in this many parts of a dollar; 0 is dollars
	seconds string  // length of the video
	refused bool    // withheld videos are charged
}

// A videoOption is an option of a request besides the prompt.
type videoOption string

const (
	wishFirst      videoOption = "a first frame"
	wishLast       videoOption = "a last frame"
	wishReferences videoOption = "reference images"
	wishSource     videoOption = "a video to change"
	wishExtend     videoOption = "continuing a video"
	wishSeconds    videoOption = "a length"
	wishResolution videoOption = "a resolution"
	wishRatio      videoOption = "an aspect ratio"
	wishAudio      videoOption = "sound on or off"
	wishSeed       videoOption = "a seed"
	wishAvoid      videoOption = "words to avoid"
)

// requestedOptions lists the options set in r.
func requestedOptions(r works.VideoRequest) (list []videoOption) {
	for _, w := range []struct {
		asked bool
		wish  videoOption
	}{
		{r.FirstFrame != nil, wishFirst}, {r.LastFrame != nil, wishLast}, {len(r.References) > 0, wishReferences},
		{r.Source != nil && !r.Extend, wishSource}, {r.Source != nil && r.Extend, wishExtend},
		{r.Seconds != 0, wishSeconds}, {r.Resolution != "", wishResolution}, {r.Ratio != "", wishRatio},
		{r.Audio != nil, wishAudio}, {r.Seed != nil, wishSeed}, {r.NegativePrompt != "", wishAvoid},
	} {
		if w.asked {
			list = append(list, w.wish)
		}
	}
	return list
}

// videoServices lists the services.
var videoServices = []*videoService{&veo, &grokVideo, &wanVideo, &hailuoVideo, &minimaxVideo, &glmVideo, &openRouterVideo, &openAIVideo}

// jobState maps the state names of all services, in lower case; "" for unknown names. No name has
// two meanings.
func jobState(name string) works.JobState {
	switch name {
	case "pending", "queued", "submitted", "queueing", "created":
		return works.JobQueued
	case "running", "processing", "in_progress", "preparing":
		return works.JobRunning
	case "done", "completed", "succeeded", "success":
		return works.JobDone
	case "failed", "fail", "error":
		return works.JobFailed
	case "canceled", "cancelled":
		return works.JobCanceled
	case "expired":
		return works.JobExpired
	}
	return ""
}

// videoJobs are the jobs of a model of a service.
type videoJobs struct {
	o       adapter.Options
	service *videoService
	client  adapter.Client
	public  bool // treat local addresses of files as public: for tests
}

// newVideoJobs returns the jobs of the model that o describes. It sends nothing before Start.
func newVideoJobs(o adapter.Options, kind string) works.VideoJobs {
	o = o.WithDefaults()
	i := slices.IndexFunc(videoServices, func(s *videoService) bool { return s.kind == kind && (s.models == nil || s.models(o.Model)) })
	v := &videoJobs{o: o, service: &openAIVideo} // for kinds without a row
	if i >= 0 {
		v.service = videoServices[i]
	}
	v.client = adapter.Client{HTTP: o.HTTP, Headers: o.RequestHeaders(v.service.key)}
	return v
}

// videoAnswerLimit bounds an answer about a job, in bytes.
const videoAnswerLimit = 8 << 20

// Start implements works.VideoJobs.
func (v *videoJobs) Start(ctx context.Context, r works.VideoRequest) (works.Job, error) {
	j := works.Job{Provider: v.o.Provider, Model: v.o.Model, State: works.JobQueued}
	r, notes, err := v.fit(r)
	if err != nil {
		return works.Job{}, v.o.WithProvider(err)
	}
	j.Notes = notes
	path, fields, err := v.service.create.request(v.o.Model, r)
	if err != nil {
		return works.Job{}, v.o.WithProvider(err)
	}
	wire.Merge(fields, v.o.Body)
	var body any = fields
	if v.service.create.form {
		if body, err = multipartForm(fields); err != nil {
			return works.Job{}, adapter.Unsendable(err)
		}
	}
	create := v.client
	create.Headers = maps.Clone(v.client.Headers)
	if header := v.service.create.header; header[0] != "" {
		create.Headers[header[0]] = header[1]
	}
	answer, err := v.call(ctx, create, http.MethodPost, v.address(path), body)
	if err != nil {
		if fault := v.o.WithProvider(err); fault.Fault == llm.ContentFilter && ctx.Err() == nil {
			return v.refusedJob(j, "input", fault), nil
		}
		return works.Job{}, v.failed(ctx, err)
	}
	j.ID = firstText(answer, v.service.create.id)
	if _, err := v.path("{id}", j.ID); err != nil {
		if ended := v.updated(j, answer); j.ID == "" && (ended.State == works.JobFailed || ended.State == works.JobRefused) {
			return ended, nil // failed at once: there is no job to poll
		}
		return works.Job{}, v.o.WithProvider(&llm.Error{Fault: llm.Server, Message: "took the request, which may be paid for, and returned no job that can be asked for: " + err.Error()})
	}
	return v.updated(j, answer), nil
}

// fit drops options from r that the service lacks but that are optional, with notes about them.
// Other options that it lacks are an error.
func (v *videoJobs) fit(r works.VideoRequest) (works.VideoRequest, []string, error) {
	if strings.TrimSpace(r.Prompt) == "" && r.FirstFrame == nil && r.Source == nil {
		return r, nil, &llm.Error{Fault: llm.InvalidRequest, Message: "the prompt is empty: describe the video"}
	}
	if r.Extend && r.Source == nil {
		return r, nil, &llm.Error{Fault: llm.InvalidRequest, Message: "a video to continue is missing"}
	}
	var notes []string
	for _, w := range requestedOptions(r) {
		switch {
		case !slices.Contains(v.service.create.unsupported, w):
		case w == wishSeed:
			r.Seed, notes = nil, append(notes, adapter.LeftOut(v.o.Model, string(w)))
		case w == wishAvoid:
			r.NegativePrompt, notes = "", append(notes, adapter.LeftOut(v.o.Model, string(w)))
		case w == wishAudio && !*r.Audio: // best effort: there is no option to turn sound off
			r.Audio, notes = nil, append(notes, adapter.LeftOut(v.o.Model, string(w)))
		default:
			return r, nil, unsupportedOption(v.o.Model, w)
		}
	}
	return r, notes, nil
}

func unsupportedOption(model string, w videoOption) error {
	return &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s does not take %s", model, w)}
}

// Poll implements works.VideoJobs.
func (v *videoJobs) Poll(ctx context.Context, j works.Job) (works.Job, error) {
	answer, err := v.ask(ctx, j)
	var e *llm.Error
	switch {
	case errors.As(err, &e) && e.Fault == llm.ContentFilter && ctx.Err() == nil: // xAI's, with status 400
		return v.refusedJob(j, "output", e), nil
	case err != nil:
		return j, err
	}
	return v.updated(j, answer), nil
}

// ask returns the service's answer about a job; empty if it has no body yet.
func (v *videoJobs) ask(ctx context.Context, j works.Job) (map[string]any, error) {
	path, err := v.path(v.service.job.address, j.ID)
	if err != nil {
		return nil, v.o.WithProvider(&llm.Error{Fault: llm.InvalidRequest, Message: err.Error()})
	}
	answer, err := v.call(ctx, v.client, http.MethodGet, v.address(path), nil)
	if err == nil {
		return answer, nil
	}
	err = v.failed(ctx, err)
	var e *llm.Error
	if errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusGone) {
		e.Fault, e.Message = llm.InvalidRequest, "the job is not there: it expired, or it was started with another key or in another region"
	}
	return nil, err
}

// call sends a request and decodes its answer. An error inside the answer about a failed job is not
// an error of the request.
func (v *videoJobs) call(ctx context.Context, c adapter.Client, method, address string, body any) (map[string]any, error) {
	var raw json.RawMessage
	err := call(ctx, c, method, address, body, &raw, videoAnswerLimit)
	var said *wire.Answer
	if errors.As(err, &said) && said.Status < 300 {
		raw = said.Body
	} else if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber() // ids may be numbers
	var answer map[string]any
	if len(raw) > 0 && decoder.Decode(&answer) != nil && err == nil {
		return nil, &llm.Error{Fault: llm.Server, Message: "answered with something that is not a job: " + wire.Excerpt(string(raw))}
	}
	if err != nil && firstText(answer, v.service.create.id) == "" && firstText(answer, v.service.job.state) == "" && !isTrue(answer, v.service.job.done) {
		return nil, err
	}
	return answer, nil
}

// failed returns the cause if ctx has ended, else err with the provider filled in.
func (v *videoJobs) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return v.o.WithProvider(err)
}

// address returns the URL of a path of the service.
func (v *videoJobs) address(path string) string {
	root := strings.TrimRight(v.o.BaseURL, "/")
	if v.service.root != nil {
		root = v.service.root(root)
	}
	return root + path
}

// maxJobID bounds an id, in bytes.
const maxJobID = 512

// path returns pattern with {id} replaced by an id, escaped for a path or a query. The id comes from
// the service and may contain any characters.
func (v *videoJobs) path(pattern, id string) (string, error) {
	parts := []string{id}
	if v.service.create.named {
		parts = strings.Split(id, "/")
	}
	for i, part := range parts {
		if part == "" || len(id) > maxJobID || strings.Trim(part, ".") == "" || slices.Contains(strings.Split(part, "/"), "..") || strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%s is not an id", strconv.QuoteToASCII(wire.Excerpt(id)))
		}
		if parts[i] = url.PathEscape(part); strings.Contains(pattern, "={id}") {
			parts[i] = url.QueryEscape(part)
		}
	}
	return strings.ReplaceAll(pattern, "{id}", strings.Join(parts, "/")), nil
}

// Cancel implements works.VideoJobs.
func (v *videoJobs) Cancel(ctx context.Context, j works.Job) error {
	method, pattern, ok := strings.Cut(v.service.cancel, " ")
	if !ok {
		return v.o.WithProvider(&llm.Error{Fault: llm.Unsupported, Message: "a video that was asked for cannot be canceled there: it is made, and paid for"})
	}
	path, err := v.path(pattern, j.ID)
	if err != nil {
		return v.o.WithProvider(&llm.Error{Fault: llm.InvalidRequest, Message: err.Error()})
	}
	err = call(ctx, v.client, method, v.address(path), nil, nil, videoAnswerLimit)
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Status == http.StatusNoContent {
		return nil // success without a body
	}
	if err != nil {
		return v.failed(ctx, err)
	}
	return nil
}
