package media

import (
	"errors"
	"os"
	"strings"

	"parley/providers"
	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// CheckVideo returns an error if a model is known not to support the video that r requests. It
// sends nothing. The error names connected models that support it.
func CheckVideo(c providers.Config, m Model[VideoJobs, catalog.VideoModel], r works.VideoRequest, getenv func(string) string) error {
	err := m.Service.Check(r)
	if e := (*llm.Error)(nil); errors.As(err, &e) && e.Fault == llm.Unsupported {
		if able := ableVideos(c, r, getenv); len(able) > 0 {
			e.Message += "; of the connected models, these can: " + strings.Join(able, ", ")
		}
	}
	return err
}

// ableVideos returns the names of ready models that support r, one per provider.
func ableVideos(c providers.Config, r works.VideoRequest, getenv func(string) string) (able []string) {
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, s := range Videos.services(c, getenv) {
		if s.Missing != "" {
			continue
		}
		for _, facts := range catalog.MediaOf(s.Catalog).Videos {
			o := adapter.Options{Provider: s.Name, Model: facts.ID, BaseURL: s.BaseURL}
			if Videos.opener(s)(o, facts, nil).Check(r) == nil {
				able = append(able, s.Name+"/"+facts.ID)
				break
			}
		}
	}
	return able
}
