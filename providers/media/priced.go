package media

import (
	"context"
	"io"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/wire"
)

// What follows tells what something cost where the server did not, and keeps secrets out of
// errors.

type pricedEmbedder struct {
	llm.Embedder
	facts   catalog.Embedding
	secrets []string
}

func (e pricedEmbedder) Embed(ctx context.Context, inputs []string, o llm.EmbedOptions) (*llm.Embedded, error) {
	got, err := e.Embedder.Embed(ctx, inputs, o)
	if err != nil {
		return nil, wire.MaskError(err, e.secrets)
	}
	if got.Bill.Tokens == 0 && !got.Bill.Priced { // Gemini counts none
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

func (v pricedVideos) Start(ctx context.Context, r llm.VideoRequest) (llm.Job, error) {
	j, err := v.VideoJobs.Start(ctx, r)
	if usd, ok := v.facts.Cost(r.Seconds, r.Resolution); err == nil && ok && j.Bill == nil {
		j.Bill = &llm.Bill{Seconds: float64(r.Seconds), USD: usd, Priced: true}
	}
	return j, wire.MaskError(err, v.secrets)
}

func (v pricedVideos) Poll(ctx context.Context, j llm.Job) (llm.Job, error) {
	j, err := v.VideoJobs.Poll(ctx, j)
	return j, wire.MaskError(err, v.secrets)
}

func (v pricedVideos) Fetch(ctx context.Context, j llm.Job, i int, w io.Writer) (llm.Blob, error) {
	b, err := v.VideoJobs.Fetch(ctx, j, i, w)
	return b, wire.MaskError(err, v.secrets)
}

func (v pricedVideos) Cancel(ctx context.Context, j llm.Job) error {
	return wire.MaskError(v.VideoJobs.Cancel(ctx, j), v.secrets)
}
