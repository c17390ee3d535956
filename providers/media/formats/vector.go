package formats

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
)

// A vector decodes from a JSON array of numbers, or from base64 of little-endian float32. An element
// that is not a number becomes NaN, which checkVectors rejects: encoding/json would decode null,
// which some servers send, as 0.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(text []byte) error {
	text = bytes.TrimSpace(text)
	*v = nil
	switch {
	case len(text) > 0 && text[0] == '"':
		*v = fromBase64(text)
	case len(text) > 2 && text[0] == '[':
		*v = make(vector, 0, bytes.Count(text, []byte(","))+1)
		for number := range bytes.SplitSeq(text[1:len(text)-1], []byte(",")) {
			x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
			if err != nil {
				x = math.NaN()
			}
			*v = append(*v, float32(x))
		}
	}
	return nil
}

// fromBase64 decodes a vector from a JSON string of base64; a single NaN if it is invalid.
func fromBase64(text []byte) vector {
	var coded string
	if json.Unmarshal(text, &coded) != nil {
		return vector{float32(math.NaN())}
	}
	data, err := base64.StdEncoding.DecodeString(coded)
	if err != nil || len(data)%4 != 0 {
		return vector{float32(math.NaN())}
	}
	v := make(vector, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}

// float32s converts vectors for an works.Embedded.
func float32s(vectors []vector) [][]float32 {
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		out[i] = v
	}
	return out
}
