package formats

import (
	"fmt"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// fitVideo returns r with options in the model's spelling, or an error if the model does not
// support r. It accepts any request for a model without facts.
func fitVideo(m catalog.VideoModel, r works.VideoRequest) (works.VideoRequest, error) {
	if m.ID == "" {
		return r, nil
	}
	unsupported := func(format string, args ...any) (works.VideoRequest, error) {
		return r, &llm.Error{Fault: llm.Unsupported, Message: m.ID + " " + fmt.Sprintf(format, args...)}
	}
	if n := len([]rune(r.Prompt)); m.MaxPrompt > 0 && n > m.MaxPrompt {
		return r, &llm.Error{Fault: llm.InvalidRequest, Message: fmt.Sprintf("the prompt has %d characters; %s takes %d", n, m.ID, m.MaxPrompt)}
	}
	if !m.TakesLength(r.Seconds) {
		if len(m.Lengths) > 0 {
			return unsupported("makes videos of %s seconds, not %d", list(m.Lengths, "or"), r.Seconds)
		}
		return unsupported("makes videos of %d to %d seconds, not %d", m.Least, m.Most, r.Seconds)
	}
	for _, c := range []struct {
		value *string
		among []string
		what  string
	}{{&r.Resolution, m.Resolutions, "resolutions"}, {&r.Ratio, m.Ratios, "aspect ratios"}} {
		if *c.value == "" || len(c.among) == 0 {
			continue
		}
		i := slices.IndexFunc(c.among, func(s string) bool { return strings.EqualFold(s, *c.value) })
		if i < 0 {
			return unsupported("makes the %s %s, not %s", c.what, list(c.among, "and"), *c.value)
		}
		*c.value = c.among[i]
	}
	switch {
	case r.FirstFrame != nil && !m.First:
		return unsupported("does not take %s", wishFirst)
	case r.LastFrame != nil && !m.Last:
		return unsupported("does not take %s", wishLast)
	case len(r.References) > 0 && m.References == 0:
		return unsupported("does not take %s", wishReferences)
	case len(r.References) > m.References && m.References != catalog.AnyNumber:
		return unsupported("takes %d reference images, not %d", m.References, len(r.References))
	case r.Source != nil && !m.Source:
		return unsupported("does not take %s", wishSource)
	case r.Audio != nil && *r.Audio && !m.Audio && !m.Sound:
		return unsupported("makes no sound")
	case r.Audio != nil && !*r.Audio && m.Sound:
		return unsupported("makes sound, which cannot be turned off")
	case r.Audio != nil && !m.Audio: // a silent video is all the model makes
		r.Audio = nil
	}
	return r, nil
}

// list joins values for a sentence, with word before the last.
func list[T any](values []T, word string) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprint(v))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " " + word + " " + words[n-1]
	}
	return strings.Join(words, "")
}

// Check implements media.VideoJobs.
func (v pricedVideos) Check(r works.VideoRequest) error {
	r, err := fitVideo(v.facts, emptied(r))
	jobs, ok := v.VideoJobs.(*videoJobs)
	if err != nil || !ok {
		return v.maskError(err)
	}
	if r, _, err = jobs.fit(r); err == nil {
		_, _, err = jobs.service.create.request(jobs.o.Model, r)
	}
	if err != nil {
		return v.maskError(jobs.o.WithProvider(err))
	}
	return nil
}

// emptied returns r without the content of its files, which is large and does not matter for checks.
func emptied(r works.VideoRequest) works.VideoRequest {
	empty := func(b *works.Blob) *works.Blob {
		if b == nil {
			return nil
		}
		return &works.Blob{Name: b.Name, MIME: b.MIME}
	}
	r.FirstFrame, r.LastFrame, r.Source = empty(r.FirstFrame), empty(r.LastFrame), empty(r.Source)
	references := r.References
	r.References = nil
	for _, b := range references {
		r.References = append(r.References, *empty(&b))
	}
	return r
}
