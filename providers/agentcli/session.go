package agentcli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// state holds what an answer's State holds: where to go on.
type state struct {
	Session string  `json:"session"` // the program's id
	Seen    string  `json:"seen"`    // digest of the history that the session holds, without the answer
	Turn    int     `json:"turn"`    // answers that the session holds
	Tokens  int     `json:"tokens,omitempty"`
	Cost    float64 `json:"cost,omitempty"` // US dollars; with Tokens what the program had counted for the session
}

// validSessionID matches what the id of a session looks like. It becomes an argument.
var validSessionID = adapter.Pattern(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// resumable looks for the last answer whose session can go on, and the index of
// the first message that the session does not hold. A history that was changed
// before that answer, by an edit or by compaction, is another conversation.
func resumable(history []llm.Message, origin string) (s state, from int, ok bool) {
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		if m.Role != llm.RoleAssistant || m.Origin != origin {
			continue
		}
		for _, p := range m.Parts {
			if p.Kind != llm.Opaque || json.Unmarshal(p.State, &s) != nil || !validSessionID().MatchString(s.Session) {
				continue
			}
			return s, i + 1, s.Seen == digest(history[:i])
		}
	}
	return state{}, 0, false
}

// digest names a history by everything in it that a program could have been
// told.
func digest(history []llm.Message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, m := range history {
		parts := make([]llm.Part, len(m.Parts))
		for i, p := range m.Parts {
			p.State = nil
			parts[i] = p
		}
		enc.Encode(llm.Message{Role: m.Role, Parts: parts}) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// claimSession takes a session for a request, and reports whether it can be used. A
// program that goes on in a copy leaves the session as it was, for any number of
// branches. One that writes on in the session itself can do so only where the
// session still ends with the very answer, which is known of sessions that this
// model was the last to use.
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

// releaseSession lets others go on from s.
func (m *Model) releaseSession(s state) {
	if m.flavor.forksSession || s.Session == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idleSessions[s.Session] = s.Turn
}
