package gemini

import (
	"bytes"
	"encoding/json"
	"io"

	"parley/providers/adapter"
	"parley/providers/wire"
)

// OnEvent reads one chunk of a stream.
func (a *answer) OnEvent(_ string, data []byte) (last bool, err error) { return false, a.onChunk(data) }

// OnBody reads one chunk, or a list of chunks, which the API sends unless events are requested. A list may
// be cut off.
func (a *answer) OnBody(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if data[0] == '[' {
		d.Token()
	}
	for d.More() {
		var chunk json.RawMessage
		switch err := d.Decode(&chunk); {
		case err == io.EOF, err == io.ErrUnexpectedEOF:
			return a.OnEnd(true)
		case err != nil:
			return wire.NotJSON(data)
		}
		if err := a.onChunk(chunk); err != nil {
			return err
		}
	}
	return a.OnEnd(true)
}

// OnEnd reports whether the answer is complete. Errors after its end do not matter.
func (a *answer) OnEnd(bool) error {
	if a.finish == "" && a.blocked == "" {
		return wire.ErrInterrupted
	}
	return nil
}

// onChunk adds one chunk, which may contain an error instead of an answer.
func (a *answer) onChunk(data []byte) error {
	c := &a.last
	if data[0] == '[' { // an error, wrapped in a list
		*c = chunk{}
	} else if err := c.decode(data, &a.usage); err != nil {
		return wire.DecodeError(data, err)
	}
	if a.label.ID == "" && a.labelChecks < 8 { // gateways may omit it
		a.labelChecks++
		adapter.DecodeLenient(data, &a.label)
	}
	a.addChunk(c, data)
	if wire.HasError(c.Error) {
		return wire.BodyError(data)
	}
	if len(c.Candidates) == 0 {
		if fault := wire.EventError(data); fault != nil {
			return fault
		}
	}
	return nil
}
