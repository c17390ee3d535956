package adapter

import "parley/providers/llm"

// budgetEfforts maps thinking budgets below a bound, in tokens, to efforts.
var budgetEfforts = []struct {
	below int
	llm.Effort
}{{1500, llm.EffortMinimal}, {4000, llm.EffortLow}, {12_000, llm.EffortMedium}, {24_000, llm.EffortHigh}}

// EffortOf returns the effort nearest to a thinking budget in tokens.
func EffortOf(budget int) llm.Effort {
	for _, row := range budgetEfforts {
		if budget < row.below {
			return row.Effort
		}
	}
	return llm.EffortMax
}
