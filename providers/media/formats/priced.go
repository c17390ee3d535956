package formats

import (
	"cmp"
	"context"
	"io"
	"slices"

	"parley/providers/catalog"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/providers/wire"
)

// The types below add costs that the server does not report and mask secrets in errors.

type pricedEmbedder struct {
	works.Embedder
	facts   catalog.Embedding
	secrets []string
}

func (e pricedEmbedder) Embed(ctx context.Context, inputs []string, o works.EmbedOptions) (*works.Embedded, error) {
	got, err := e.Embedder.Embed(ctx, inputs, o)
	if err != nil {
		return nil, media.WithPurpose(wire.MaskError(err, e.secrets), "embed")
	}
	if got.Bill.Tokens == 0 && !got.Bill.Priced { // Gemini does not count tokens
		for _, text := range inputs {
			got.Bill.Tokens += catalog.Estimate(text)
		}
	}
	got.Bill = e.facts.Bill(got.Bill)
	return got, nil
}

func (e pricedEmbedder) Batch() (inputs, tokens int) {
	inputs, tokens = e.Embedder.Batch()
	if e.facts.Batch > 0 {
		inputs = e.facts.Batch
	}
	return inputs, tokens
}

type pricedVideos struct {
	works.VideoJobs
	facts   catalog.VideoModel
	secrets []string
}

// maskError returns err with secrets masked.
func (v pricedVideos) maskError(err error) error {
	return media.WithPurpose(wire.MaskError(err, v.secrets), "video")
}

// Start implements works.VideoJobs. It rejects unsupported requests before sending anything.
func (v pricedVideos) Start(ctx context.Context, r works.VideoRequest) (works.Job, error) {
	r, err := fitVideo(v.facts, r)
	if err != nil {
		return works.Job{}, err
	}
	j, err := v.VideoJobs.Start(ctx, r)
	if usd, ok := v.facts.Cost(r.Seconds, r.Resolution); err == nil && ok && j.Bill == nil {
		j.Bill = &works.Bill{Seconds: float64(cmp.Or(r.Seconds, v.facts.Default)), USD: usd, Priced: true}
	}
	return v.masked(unbilled(j)), v.maskError(err)
}

// masked returns j with secrets masked in texts of the server.
func (v pricedVideos) masked(j works.Job) works.Job {
	mask := wire.MaskText(v.secrets, 4)
	j.Failure, j.RawState = mask(j.Failure), mask(j.RawState)
	if j.Refused != nil {
		r := *j.Refused
		r.Text, r.Code = mask(r.Text), mask(r.Code)
		j.Refused = &r
	}
	j.Notes = slices.Clone(j.Notes)
	for i, note := range j.Notes {
		j.Notes[i] = mask(note)
	}
	return j
}

func (v pricedVideos) Poll(ctx context.Context, j works.Job) (works.Job, error) {
	j, err := v.VideoJobs.Poll(ctx, j)
	return v.masked(unbilled(j)), v.maskError(err)
}

// unbilled removes the estimated cost from a job that was refused without charge.
func unbilled(j works.Job) works.Job {
	if j.Refused != nil && !j.Refused.Billed && j.Bill != nil && !j.Bill.Reported {
		j.Bill = &works.Bill{Priced: true}
	}
	return j
}

func (v pricedVideos) Fetch(ctx context.Context, j works.Job, o works.VideoOutput, w io.Writer) (works.Blob, error) {
	b, err := v.VideoJobs.Fetch(ctx, j, o, w)
	return b, v.maskError(err)
}

func (v pricedVideos) Cancel(ctx context.Context, j works.Job) error {
	return v.maskError(v.VideoJobs.Cancel(ctx, j))
}
