package media

import (
	"errors"
	"os"
	"strings"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
)

// CheckVideo returns why a model cannot make the video that r asks for; nil if nothing is known
// against it. Nothing is sent. If other models that are ready can, the error names them.
func CheckVideo(c providers.Config, m Model[llm.VideoJobs, catalog.VideoModel], r llm.VideoRequest, getenv func(string) string) error {
	v, ok := m.Service.(pricedVideos)
	if !ok {
		return nil
	}
	r = emptied(r)
	err := v.check(r)
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.Unsupported {
		return v.failed(err)
	}
	if able := ableVideos(c, r, getenv); len(able) > 0 {
		e.Message += "; of the connected models, these can: " + strings.Join(able, ", ")
	}
	return v.failed(err)
}

// ableVideos returns the names of models that are ready and can make what r asks for, one of
// each provider.
func ableVideos(c providers.Config, r llm.VideoRequest, getenv func(string) string) (able []string) {
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, s := range Filming.services(c, getenv) {
		if s.Missing != "" {
			continue
		}
		for _, facts := range catalog.MediaOf(s.Catalog).Videos {
			o := adapter.Options{Provider: s.Name, Model: facts.ID, BaseURL: s.BaseURL}
			if (pricedVideos{VideoJobs: newVideoJobs(o, s.Kind), facts: facts}).check(r) == nil {
				able = append(able, s.Name+"/"+facts.ID)
				break
			}
		}
	}
	return able
}

// check returns why the model cannot make what r asks for.
func (v pricedVideos) check(r llm.VideoRequest) error {
	r, err := fitVideo(v.facts, r)
	jobs, ok := v.VideoJobs.(*videoJobs)
	if err != nil || !ok {
		return err
	}
	if r, _, err = jobs.fit(r); err == nil {
		_, _, err = jobs.service.create.request(jobs.o.Model, r)
	}
	if err != nil {
		return jobs.o.WithProvider(err)
	}
	return nil
}

// emptied returns r without what is in its files, which are large: what can be asked for does
// not depend on it.
func emptied(r llm.VideoRequest) llm.VideoRequest {
	empty := func(b *llm.Blob) *llm.Blob {
		if b == nil {
			return nil
		}
		return &llm.Blob{Name: b.Name, MIME: b.MIME}
	}
	r.First, r.Last, r.Source = empty(r.First), empty(r.Last), empty(r.Source)
	references := r.References
	r.References = nil
	for _, b := range references {
		r.References = append(r.References, *empty(&b))
	}
	return r
}
