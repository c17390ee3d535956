package app

// Trust is the question about the directory's files, asked at the start with "no" preselected.
type Trust struct {
	Question string                                    // "" if nothing needs to be asked
	Decide   func(yes bool) (system string, err error) // stores the answer and returns the resulting system prompt
	Decided  TrustDecision                             // for /trust
}

// A TrustDecision is the user's decision about the directory's files. A change takes effect at the next start, which
// reads those files. The zero value is a directory without such files.
type TrustDecision struct {
	Review func() string        // returns the question with the list of files; nil if there are none
	Get    func() (yes bool)    // returns the decision; no if there is none
	Set    func(yes bool) error // stores the decision
}
