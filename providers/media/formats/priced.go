package formats

import (
	"cmp"
	"context"
	"io"
	"slices"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/media"
	"parley/providers/wire"
)

// The types below add costs that the server does not report and mask secrets in errors.

type pricedEmbedder struct {
	llm.Embedder
	facts   catalog.Embedding
	secrets []string
}

func (e pricedEmbedder) Embed(ctx context.Context, inputs []string, o llm.EmbedOptions) (*llm.Embedded, error) {
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
	llm.VideoJobs
	facts   catalog.VideoModel
	secrets []string
}

// maskError returns err with secrets masked.
func (v pricedVideos) maskError(err error) error {
	return media.WithPurpose(wire.MaskError(err, v.secrets), "video")
}

// Start implements llm.VideoJobs. It rejects unsupported requests before sending anything.
func (v pricedVideos) Start(ctx context.Context, r llm.VideoRequest) (llm.Job, error) {
	r, err := fitVideo(v.facts, r)
	if err != nil {
		return llm.Job{}, err
	}
	j, err := v.VideoJobs.Start(ctx, r)
	if usd, ok := v.facts.Cost(r.Seconds, r.Resolution); err == nil && ok && j.Bill == nil {
		j.Bill = &llm.Bill{Seconds: float64(cmp.Or(r.Seconds, v.facts.Default)), USD: usd, Priced: true}
	}
	return v.masked(unbilled(j)), v.maskError(err)
}

// masked returns j with secrets masked in texts of the server.
func (v pricedVideos) masked(j llm.Job) llm.Job {
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

func (v pricedVideos) Poll(ctx context.Context, j llm.Job) (llm.Job, error) {
	j, err := v.VideoJobs.Poll(ctx, j)
	return v.masked(unbilled(j)), v.maskError(err)
}

// unbilled removes the estimated cost from a job that was refused without charge.
func unbilled(j llm.Job) llm.Job {
	if j.Refused != nil && !j.Refused.Billed && j.Bill != nil && !j.Bill.Reported {
		j.Bill = &llm.Bill{Priced: true}
	}
	return j
}

func (v pricedVideos) Fetch(ctx context.Context, j llm.Job, o llm.VideoOutput, w io.Writer) (llm.Blob, error) {
	b, err := v.VideoJobs.Fetch(ctx, j, o, w)
	return b, v.maskError(err)
}

func (v pricedVideos) Cancel(ctx context.Context, j llm.Job) error {
	return v.maskError(v.VideoJobs.Cancel(ctx, j))
}
