package formats

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// maxVideo is the largest file that is downloaded, in bytes.
const maxVideo = 4 << 30

// Fetch implements works.VideoJobs.
func (v *videoJobs) Fetch(ctx context.Context, j works.Job, o works.VideoOutput, w io.Writer) (works.Blob, error) {
	address, err := v.fileAddress(ctx, j, o)
	if err != nil {
		return works.Blob{}, err
	}
	mime, err := fetch(ctx, v.o, download{URL: address, Headers: v.client.Headers, Limit: maxVideo, Public: v.public}, w)
	if err != nil {
		return works.Blob{}, err
	}
	return works.Blob{MIME: mime}, nil
}

// fileAddress returns the URL of an output of a finished job.
func (v *videoJobs) fileAddress(ctx context.Context, j works.Job, o works.VideoOutput) (string, error) {
	s := v.service.files
	if o.Variant != "" && !s.variants && (o.Variant != "thumbnail" || s.thumbnail == "") {
		return "", v.o.WithProvider(&llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s has no %s of a video", v.o.Model, o.Variant)})
	}
	answer, err := v.ask(ctx, j)
	if err != nil {
		return "", err
	}
	if now := v.updated(j, answer); now.State != works.JobDone {
		return "", v.o.WithProvider(&llm.Error{Fault: llm.Server, Message: "the job is not done: " + cmp.Or(now.Failure, now.RawState, string(now.State))})
	}
	if s.content != "" {
		path, err := v.path(strings.ReplaceAll(s.content, "{index}", strconv.Itoa(o.Index)), j.ID)
		if err == nil && o.Variant != "" {
			path += "?variant=" + url.QueryEscape(o.Variant)
		}
		return v.address(path), err
	}
	from := s.urls
	if o.Variant != "" {
		from = s.thumbnail
	}
	found := texts(answer, from)
	if o.Index < 0 || o.Index >= len(found) {
		return "", v.o.WithProvider(&llm.Error{Fault: llm.Server, Message: "the job is done, but there is no such file"})
	}
	if o.Variant != "" || s.lookup == "" {
		return found[o.Index], nil
	}
	return v.located(ctx, found[o.Index])
}

// located returns the URL of the file with this id.
func (v *videoJobs) located(ctx context.Context, id string) (string, error) {
	path, err := v.path(v.service.files.lookup, id)
	if err != nil {
		return "", v.o.WithProvider(&llm.Error{Fault: llm.Server, Message: err.Error()})
	}
	answer, err := v.call(ctx, v.client, http.MethodGet, v.address(path), nil)
	if err != nil {
		return "", v.failed(ctx, err)
	}
	address := firstText(answer, v.service.files.found)
	if address == "" {
		return "", v.o.WithProvider(&llm.Error{Fault: llm.Server, Message: "does not tell where the video is"})
	}
	return address, nil
}
