package adapter

import "parley/providers/llm"

// budgetEfforts lists the bounds, in tokens, below which a thinking budget is worth an
// effort.
var budgetEfforts = []struct {
	below int
	llm.Effort
}{{1500, llm.EffortMinimal}, {4000, llm.EffortLow}, {12_000, llm.EffortMedium}, {24_000, llm.EffortHigh}}

// EffortOf returns the effort that comes nearest to a thinking budget in tokens.
func EffortOf(budget int) llm.Effort {
	for _, row := range budgetEfforts {
		if budget < row.below {
			return row.Effort
		}
	}
	return llm.EffortMax
}
