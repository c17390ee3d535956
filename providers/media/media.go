// Package media opens models for other uses than chat: they turn text into vectors, generate images
// and make videos. It finds them by name, lists them, and runs video jobs.
//
//	Config, name ──► Ability.Open ──► works.Embedder, works.ImageMaker, works.VideoJobs
//
// The wire formats are in package formats, which the program registers; without it no service has
// such models. A request that may have created something is never sent twice, since each is paid for.
package media

import (
	"errors"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// An Opener opens the model described by o. It adds prices from facts, which are zero if unknown,
// and masks secrets in everything it returns. It sends nothing.
type Opener[T, F any] func(o adapter.Options, facts F, secrets []string) T

// Formats are the wire formats of services. Each method returns nil for a kind of service without
// such models, or if its host at a base URL has none.
type Formats interface {
	Embedder(kind, base string) Opener[works.Embedder, catalog.Embedding]
	ImageMaker(kind, base string) Opener[works.ImageMaker, catalog.ImageModel]
	VideoJobs(kind, base string) Opener[VideoJobs, catalog.VideoModel]
}

// VideoJobs are the jobs of a model that can check whether it supports a request.
type VideoJobs interface {
	works.VideoJobs
	// Check returns an error if the model is known not to support r. It sends nothing.
	Check(r works.VideoRequest) error
}

var registered Formats // nil in a build without formats

// Register sets the formats of the whole program.
func Register(f Formats) { registered = f }

// WithPurpose returns err with the purpose of the model filled in, such as "image".
func WithPurpose(err error, purpose string) error {
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		e.Purpose = purpose
	}
	return err
}
