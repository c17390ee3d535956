// Package vectors stores vectors of texts, in files and collections, and finds those nearest to a query.
//
//	vectors ──► appendCode ──► blocks of coarse codes ──► Search.Scan ──► Candidates
//	        └─────────────────────────────────────────► Search.Score ──► Best
//
// Vectors have length 1, so that the dot product of two is their similarity, from -1 to 1.
package vectors

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// Coarse codes take a quarter of the size of a vector: 7 bits per number, as offsets from codeZero in steps of a scale
// that each vector has for itself. The codes of a vector form a record:
//
//	scale float32 · sum of all codes uint32 · one byte a dimension, zeros to a multiple of 8
const (
	codeZero   = 64
	codeMost   = 63 // greatest distance from codeZero
	recordHead = 8
)

// recordSize returns the size of a vector's record in bytes.
func recordSize(dimensions int) int { return recordHead + (dimensions+7)/8*8 }

// appendCode appends the record of v to block.
func appendCode(block []byte, v []float32) []byte {
	codes, scale, sum := encode(v)
	block = binary.LittleEndian.AppendUint32(block, math.Float32bits(scale))
	block = binary.LittleEndian.AppendUint32(block, sum)
	return append(block, codes...)
}

// encode returns the codes of v, the size of their step, and their sum.
func encode(v []float32) (codes []byte, scale float32, sum uint32) {
	most := float32(0)
	for _, x := range v {
		most = max(most, x, -x)
	}
	codes = make([]byte, (len(v)+7)/8*8)
	scale = most / codeMost
	for i, x := range v {
		code := byte(codeZero)
		if scale > 0 {
			code = byte(codeZero + int(math.RoundToEven(float64(x/scale))))
		}
		codes[i] = code
		sum += uint32(code)
	}
	return codes, scale, sum
}

// maxCandidates is how many results of the coarse pass are compared exactly.
const maxCandidates = 200

// A SimilarText is a text found by a search.
type SimilarText struct {
	ID    int64   `json:"-"`     // number in the collection
	Score float32 `json:"score"` // similarity, from -1 to 1
	File  string  `json:"file,omitempty"`
	Line  int     `json:"line"` // in File, from 1
	Text  string  `json:"text"`
}

// A Search finds the texts whose vectors are nearest to a query.
type Search struct {
	query     []float32
	even, odd []uint64 // codes of the query in the form for product
	sum       int64    // sum of the query's codes
	coarse    nearest
	best      nearest
}

// NewSearch returns a search for the n vectors nearest to query.
func NewSearch(query []float32, n int) *Search {
	s := &Search{query: query, coarse: nearest{most: max(maxCandidates, n)}, best: nearest{most: n}}
	codes, _, sum := encode(query)
	s.sum = int64(sum)
	for ; len(codes) > 0; codes = codes[8:] {
		c := func(i int) uint64 { return uint64(codes[i]) }
		s.even = append(s.even, c(6)|c(4)<<16|c(2)<<32|c(0)<<48)
		s.odd = append(s.odd, c(7)|c(5)<<16|c(3)<<32|c(1)<<48)
	}
	return s
}

// Scan compares the records of block, whose ids count up from first. It returns false if block is not a whole number of
// records.
func (s *Search) Scan(first int64, block []byte) bool {
	size := recordSize(len(s.query))
	if len(block)%size != 0 {
		return false
	}
	offset := int64(len(s.query))*codeZero*codeZero - codeZero*s.sum
	for ; len(block) >= size; block = block[size:] {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(block))
		sum := int64(binary.LittleEndian.Uint32(block[4:]))
		dot := int64(product(block[recordHead:size], s.even, s.odd)) - codeZero*sum + offset
		s.coarse.add(SimilarText{ID: first, Score: float32(dot) * scale})
		first++
	}
	return true
}

// product returns the dot product of codes and those of a query. It takes eight codes at a time: four codes, each a
// byte in 16 bits, times four of the query in reverse order have the sum of their products in the upper 16 of 64 bits,
// where it fits: 4·127² < 2¹⁶.
func product(codes []byte, even, odd []uint64) (sum uint64) {
	const bytes = 0x00ff00ff00ff00ff
	odd = odd[:len(even)]
	codes = codes[:8*len(even)]
	for i, e := range even {
		c := binary.LittleEndian.Uint64(codes[8*i:])
		sum += (c&bytes*e)>>48 + (c>>8&bytes*odd[i])>>48
	}
	return sum
}

// Candidates returns the ids of the nearest vectors from Scan in ascending order, to be compared by Score.
func (s *Search) Candidates() (ids []int64) {
	for _, t := range s.coarse.texts {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// Score compares the vector v of t exactly. It ignores vectors with other dimensions than the query.
func (s *Search) Score(t SimilarText, v []float32) {
	if len(v) == len(s.query) {
		t.Score = dot(s.query, v)
		s.best.add(t)
	}
}

// Best returns the nearest texts compared by Score, the nearest first.
func (s *Search) Best() []SimilarText { return s.best.texts }

func dot(a, b []float32) float32 {
	var sum float64
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return float32(sum)
}

// nearest holds up to most texts, the nearest first; of texts with the same score, the one added first.
type nearest struct {
	texts []SimilarText
	most  int
}

func (n *nearest) add(t SimilarText) {
	at := sort.Search(len(n.texts), func(i int) bool { return n.texts[i].Score < t.Score })
	n.texts = slices.Insert(n.texts, at, t)
	n.texts = n.texts[:min(len(n.texts), n.most)]
}

// toBytes encodes v as float32 in little-endian order.
func toBytes(v []float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // it fails only for other types
	return b
}

// fromBytes decodes a vector from toBytes.
func fromBytes(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	_, _ = binary.Decode(b, binary.LittleEndian, v)
	return v
}
