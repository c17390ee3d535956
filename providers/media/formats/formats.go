// Package formats implements the wire formats of models that do not chat.
//
//	[]string         ──► embed_*.go ──► works.Embedded
//	works.ImageRequest ──► image_*.go ──► works.ImageEvents
//	works.VideoRequest ──► video_*.go ──► works.Job ──► a file
//
// A file holds one format of one or more services; differences between services with the same format
// are rows of a table. A request that may have created something is never sent twice, since each is
// paid for. Refusals are outcomes, not errors. Wire facts are of November 2026.
package formats

import (
	"net/url"
	"slices"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// Register makes media open models with the formats of this package.
func Register() { media.Register(all{}) }

// all implements media.Formats.
type all struct{}

// Embedder implements media.Formats.
func (all) Embedder(kind, _ string) media.Opener[works.Embedder, catalog.Embedding] {
	if !hasRow(embeddingFormats, kind) {
		return nil
	}
	return func(o adapter.Options, facts catalog.Embedding, secrets []string) works.Embedder {
		return pricedEmbedder{newEmbedder(o, kind), facts, secrets}
	}
}

// ImageMaker implements media.Formats.
func (all) ImageMaker(kind, _ string) media.Opener[works.ImageMaker, catalog.ImageModel] {
	if !hasRow(imageFormats, kind) {
		return nil
	}
	return func(o adapter.Options, facts catalog.ImageModel, secrets []string) works.ImageMaker {
		m := newImageMaker(o, kind)
		m.facts, m.secrets = facts, secrets
		return m
	}
}

// kindResponses is the kind of OpenAI's services with the Responses API.
const kindResponses = "openai-responses"

// videoKinds lists the kinds of services that make videos.
var videoKinds = []string{"gemini", "grok", "qwen", "minimax", "glm", "openrouter", "openai", kindResponses, "vllm"}

// VideoJobs implements media.Formats. OpenAI itself no longer makes videos.
func (all) VideoJobs(kind, base string) media.Opener[media.VideoJobs, catalog.VideoModel] {
	if u, err := url.Parse(base); !slices.Contains(videoKinds, kind) || err == nil && u.Hostname() == "api.openai.com" {
		return nil
	}
	return func(o adapter.Options, facts catalog.VideoModel, secrets []string) media.VideoJobs {
		return pricedVideos{newVideoJobs(o, kind), facts, secrets}
	}
}

// A row is a row of a table of services, for one kind in the configuration.
type row interface{ serviceKind() string }

// hasRow reports whether a table has a row of a kind.
func hasRow[R row](table []R, kind string) bool {
	return slices.ContainsFunc(table, func(r R) bool { return r.serviceKind() == kind })
}

// rowOf returns the row of a kind; the first row if the kind has none.
func rowOf[R row](table []R, kind string) R {
	return table[max(slices.IndexFunc(table, func(r R) bool { return r.serviceKind() == kind }), 0)]
}
