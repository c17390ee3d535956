package app

// Trust is the question about the files of the directory, asked at the start with no preselected.
type Trust struct {
	Question string                                    // "" if there is nothing to ask
	Decide   func(yes bool) (system string, err error) // the answer, and the system prompt that follows from it
	Decided  TrustDecision                             // what /trust shows and changes
}

// A TrustDecision is what the user decided about the files of the directory. It counts from the
// next start: the directory's files are read there. The zero value is a directory without any.
type TrustDecision struct {
	Review func() string        // the question, with the files; nil: there are none
	Get    func() (yes bool)    // no if nothing was decided
	Set    func(yes bool) error // stores it
}

// nothingToTrust says why there is no question about the directory.
func nothingToTrust(a *App) string {
	if a.Decided.Review == nil {
		return "This folder contains no settings for parley"
	}
	return ""
}

// reviewTrust asks whether what was decided about the directory is to change.
func reviewTrust(a *App, _ string) Effect {
	c := &Confirm{Text: a.Decided.Review(), Yes: TrustYes, No: TrustNo}
	trusted := a.Decided.Get()
	if trusted {
		c = &Confirm{Text: "You trust this folder. Stop trusting it?\nIts instructions, settings, prompts, skills, hooks and MCP servers are ignored then.", Yes: "Stop trusting", No: "Cancel", Harmless: true}
	}
	c.Accept = func() Effect {
		if err := a.Decided.Set(!trusted); err != nil {
			return Failure{Err: err}
		}
		if trusted {
			return Toast("Folder not trusted from the next start of parley")
		}
		return Toast("Folder trusted from the next start of parley")
	}
	return c
}
