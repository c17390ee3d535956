package agentcli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// state is the State of an answer: the session to resume.
type state struct {
	Session string  `json:"session"` // the program's id
	Seen    string  `json:"seen"`    // digest of the session's history, without the answer
	Turn    int     `json:"turn"`    // number of answers in the session
	Tokens  int     `json:"tokens,omitempty"`
	Cost    float64 `json:"cost,omitempty"` // US dollars; like Tokens, the program's total for the session
}

// validSessionID matches ids that are safe as an argument.
var validSessionID = lazy.NewRegexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// resumable returns the session of the last answer that has one, and the index of the first message
// after the session's history. It returns false if the history before that answer was changed, by an
// edit or by compaction.
func resumable(history []llm.Message, origin string) (s state, from int, ok bool) {
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		if m.Role != llm.RoleAssistant || m.Origin != origin {
			continue
		}
		for _, p := range m.Parts {
			s = state{} // discards fields of a skipped part
			if p.Kind != llm.Opaque || json.Unmarshal(p.State, &s) != nil || !validSessionID.MatchString(s.Session) {
				continue
			}
			return s, i + 1, s.Seen == digest(history[:i])
		}
	}
	return state{}, 0, false
}

// digest returns a hash of all parts of a history that are sent to programs.
func digest(history []llm.Message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, m := range history {
		parts := make([]llm.Part, len(m.Parts))
		for i, p := range m.Parts {
			p.State = nil
			parts[i] = p
		}
		enc.Encode(llm.Message{Role: m.Role, Parts: parts}) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// claimSession reserves a session for a request, and reports whether it can be resumed. A program
// that resumes a copy leaves the session unchanged, for any number of branches. A program that
// appends to the session can resume it only if it still ends with this answer, which is known only
// if this Model was the last to use it.
func (m *Model) claimSession(s state) bool {
	if m.flavor.forksSession {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	turn, ok := m.idleSessions[s.Session]
	if !ok || turn != s.Turn {
		return false
	}
	delete(m.idleSessions, s.Session)
	return true
}

// releaseSession allows other requests to resume s.
func (m *Model) releaseSession(s state) {
	if m.flavor.forksSession || s.Session == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idleSessions[s.Session] = s.Turn
}
