package vectors

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// space returns n vectors in clusters, as those of texts are, and queries like them.
func space(n, dimensions, queries int) (all, asked [][]float32) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(center []float32, spread float64) []float32 {
		v := make([]float32, dimensions)
		sum := 0.0
		for i := range v {
			x := r.NormFloat64() * spread
			if center != nil {
				x += float64(center[i])
			}
			v[i] = float32(x)
			sum += x * x
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		return v
	}
	centers := make([][]float32, 50)
	for i := range centers {
		centers[i] = draw(nil, 1)
	}
	spread := 1 / math.Sqrt(float64(dimensions))
	for range n {
		all = append(all, draw(centers[r.IntN(len(centers))], spread))
	}
	for range queries {
		asked = append(asked, draw(centers[r.IntN(len(centers))], spread))
	}
	return all, asked
}

// coded returns vectors as blocks of codes.
func coded(all [][]float32, rows int) (blocks [][]byte) {
	for chunk := range slices.Chunk(all, rows) {
		var block []byte
		for _, v := range chunk {
			block = appendCode(block, v)
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// found searches blocks, and compares the candidates exactly.
func found(query []float32, blocks [][]byte, rows, n int, all [][]float32) []SimilarText {
	s := NewSearch(query, n)
	for i, block := range blocks {
		s.Scan(int64(i*rows), block)
	}
	for _, id := range s.Candidates() {
		s.Score(SimilarText{ID: id}, all[id])
	}
	return s.Best()
}

func exact(query []float32, all [][]float32, n int) []SimilarText {
	s := NewSearch(query, n)
	for i, v := range all {
		s.Score(SimilarText{ID: int64(i)}, v)
	}
	return s.Best()
}

// product equals the sum of single products, even at the ends of the range.
func TestProduct(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dimensions := range []int{1, 7, 8, 9, 1536} {
		for trial := range 50 {
			a, b := make([]float32, dimensions), make([]float32, dimensions)
			for i := range a {
				a[i], b[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
				if trial == 0 {
					a[i], b[i] = 1, 1
				}
				if trial == 1 {
					a[i], b[i] = -1, 1
				}
			}
			codes, _, _ := encode(a)
			other, _, _ := encode(b)
			s := NewSearch(b, 1)
			want := uint64(0)
			for i := range codes {
				want += uint64(codes[i]) * uint64(other[i])
			}
			if got := product(codes, s.even, s.odd); got != want {
				t.Fatalf("%d dimensions: %d, want %d", dimensions, got, want)
			}
		}
	}
}

// The coarse pass loses less than one percent of the ten nearest vectors.
func TestRecall(t *testing.T) {
	all, queries := space(20_000, 256, 50)
	const rows = 256
	blocks, same := coded(all, rows), 0
	for _, q := range queries {
		want := exact(q, all, 10)
		got := found(q, blocks, rows, 10, all)
		if len(got) != 10 || !slices.IsSortedFunc(got, func(a, b SimilarText) int { return int(math.Copysign(1, float64(b.Score-a.Score))) }) {
			t.Fatalf("found %v", got)
		}
		for _, m := range want {
			if slices.Contains(got, m) {
				same++
			}
		}
	}
	if recall := float64(same) / 500; recall < 0.99 {
		t.Errorf("recall@10 is %.3f", recall)
	}
}

// A zero vector, a request for too many matches, and an invalid block are harmless.
func TestSearchEdges(t *testing.T) {
	zero := make([]float32, 5)
	block := appendCode(appendCode(nil, zero), []float32{1, 0, 0, 0, 0})
	s := NewSearch([]float32{1, 0, 0, 0, 0}, 10)
	if !s.Scan(7, block) || s.Scan(9, block[:len(block)-1]) {
		t.Error("took what is no block")
	}
	if ids := s.Candidates(); !slices.Equal(ids, []int64{7, 8}) {
		t.Errorf("candidates %v", ids)
	}
	s.Score(SimilarText{ID: 8}, []float32{1, 0, 0, 0, 0})
	s.Score(SimilarText{ID: 9}, []float32{1})
	if best := s.Best(); len(best) != 1 || best[0] != (SimilarText{ID: 8, Score: 1}) {
		t.Errorf("best %v", best)
	}
	v := []float32{1.5, float32(math.Pi), -3}
	if got := fromBytes(toBytes(v)); !slices.Equal(got, v) {
		t.Errorf("%v became %v", v, got)
	}
}

// BenchmarkNearest searches 100,000 vectors of 1,536 dimensions in memory, with the coarse and the exact
// pass. It also reports the recall.
func BenchmarkNearest(b *testing.B) {
	const rows = 256
	all, queries := space(100_000, 1536, 20)
	blocks := coded(all, rows)
	same := 0
	for i, q := range queries {
		got := found(q, blocks, rows, 10, all)
		for _, m := range exact(q, all, 10) {
			if slices.Contains(got, m) {
				same++
			}
		}
		_ = i
	}
	i := 0
	for b.Loop() {
		found(queries[i%len(queries)], blocks, rows, 10, all)
		i++
	}
	b.ReportMetric(float64(same)/float64(10*len(queries)), "recall@10")
}
