package formats

import (
	"fmt"
	"math"

	"parley/providers/llm"
)

// checkVectors checks a server's vectors for n inputs and normalizes them to length 1. There must
// be one vector for each input, all of the same dimensions and, unless dimensions is 0, of the
// requested ones, without NaN or infinity. Errors are *llm.Error. Their fault is Unsupported for a
// wrong number of vectors or dimensions, which the same request would return and charge again.
func checkVectors(vectors [][]float32, n, dimensions int) error {
	if len(vectors) != n {
		return badVectors(llm.Unsupported, "returned %d vectors for %d texts", len(vectors), n)
	}
	for i, v := range vectors {
		switch {
		case len(v) == 0:
			return badVectors(llm.Unsupported, "returned no vector for text %d", i+1)
		case dimensions > 0 && len(v) != dimensions:
			return badVectors(llm.Unsupported, "returned %d dimensions where %d were asked for", len(v), dimensions)
		case len(v) != len(vectors[0]):
			return badVectors(llm.Unsupported, "returned vectors of %d and of %d dimensions", len(vectors[0]), len(v))
		}
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		length := math.Sqrt(sum)
		if !(length > 0) || math.IsInf(length, 0) {
			return badVectors(llm.Server, "returned a vector for text %d that is zero or no number", i+1)
		}
		for j := range v {
			v[j] = float32(float64(v[j]) / length)
		}
	}
	return nil
}

func badVectors(fault llm.Fault, format string, args ...any) error {
	return &llm.Error{Fault: fault, Message: fmt.Sprintf(format, args...)}
}
