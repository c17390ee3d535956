// Package media speaks the wire formats in which models do something else than answer: they
// turn texts into vectors, draw images and make videos.
//
//	[]string         ──► embed_*.go ──► llm.Embedded
//	llm.ImageRequest ──► image_*.go ──► llm.ImageEvents
//	llm.VideoRequest ──► video_*.go ──► llm.Job ──► a file
//
// One file holds one format of one or more services; what services of the same format do
// differently is a row. Nothing that creates something is sent twice: each is paid for.
// Refusals are outcomes, not errors. Wire facts are of November 2026.
package media
