package recording

import (
	"bytes"
	"io"

	"parley/providers/wire"
)

// RecordTo records to a writer.
func RecordTo(to io.WriteCloser, onError func(error)) wire.Recorder {
	return &recorder{to: to, onError: onError}
}

// ReadReplay reads a recording from memory.
func ReadReplay(text []byte) (wire.Replay, error) { return readReplay(bytes.NewReader(text)) }
