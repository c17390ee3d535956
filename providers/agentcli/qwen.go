package agentcli

import (
	"os"
	"strings"

	"parley/providers/llm"
)

// qwenArgs returns the arguments of Qwen Code 0.15 to 0.24 for one plain answer. Without a terminal it denies
// everything that needs approval, and all tools are switched off. The prompt is sent on stdin. Its --bare
// flag would also ignore the login.
func qwenArgs(r *run) []string {
	args := []string{
		"--output-format=stream-json", "--include-partial-messages", "--approval-mode=default", "--chat-recording=false",
		"--extensions=none", "--allowed-mcp-server-names=none", "--core-tools=none",
		"--exclude-tools=agent,skill,tool_search,task_stop,send_message,ask_user_question,exit_plan_mode," + // version 0.15
			"get_goal,update_goal,list_agents,tool_call,report_findings,enter_worktree,exit_worktree,record_artifact", // version 0.24
	}
	return appendFlags(args, "--model=", r.model)
}

// qwenEnv sets the system prompt. A file of defaults, which the user's settings override, keeps the
// program from asking the model a second time, for facts to remember.
func qwenEnv(r *run) []string {
	var env []string
	if r.file != "" {
		env = append(env, "QWEN_SYSTEM_MD="+r.file)
	}
	if os.Getenv(qwenDefaults) != "" || exists("/etc/qwen-code/system-defaults.json") {
		return env // the administrator has set defaults
	}
	if defaults, err := r.writeTemp("parley-qwen-*.json", `{"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false,"enableAutoSkill":false}}`); err == nil {
		env = append(env, qwenDefaults+"="+defaults)
	}
	return env
}

// qwenDefaults names the variable with the file of defaults.
const qwenDefaults = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A qwen decodes the output of Qwen Code, which differs from that of Claude Code: the blocks of one
// message have separate ids and share an index, a service error comes as the text of a successful
// answer, and sessions are not resumed.
type qwen struct {
	claude    *claude
	streaming bool   // a message has started in the stream and not ended
	decided   bool   // the text is an answer, not an error
	pending   string // text that may be an error
	block     string // block of pending
}

func newQwen(a *answer) decoder {
	q := &qwen{claude: newClaude(a).(*claude)}
	q.claude.qwen = q
	return q
}

func (q *qwen) line(data []byte) {
	var l claudeLine
	decodeLenient(data, &l)
	switch {
	case l.Parent != "":
	case l.Type == "stream_event" && l.Event.Type == "message_start":
		q.streaming = true
	case l.Type == "stream_event" && l.Event.Type == "message_stop":
		q.streaming = false
	case l.Type == "result" && l.Failed && strings.HasPrefix(q.pending, qwenErrorPrefix):
		q.pending = "" // the result repeats the error
	case l.Type == "result" && q.pending != "":
		if l.Usage.Input+l.Usage.Output == 0 && strings.HasSuffix(strings.TrimSpace(q.pending), "]") {
			q.claude.done, q.claude.fault = true, q.claude.toError("", 0, strings.TrimSpace(q.pending))
			return
		}
		text := q.pending
		q.decided, q.pending = true, ""
		q.claude.delta(q.block, llm.Part{Kind: llm.Text, Text: text})
	}
	q.claude.line(data)
	q.claude.next = state{}
}

// qwenErrorPrefix begins the text of an error.
const qwenErrorPrefix = "[API Error: "

// hold adds a piece of text and returns the text that can be sent: none while the pending text may be
// an error.
func (q *qwen) hold(block, text string) string {
	if q.decided && !strings.HasPrefix(text, qwenErrorPrefix) { // an error after text is a separate piece
		return text
	}
	q.decided, q.block = false, block
	q.pending += text
	if strings.HasPrefix(q.pending, qwenErrorPrefix) || strings.HasPrefix(qwenErrorPrefix, q.pending) {
		q.claude.out.Beat()
		q.claude.out.Hold(len(text))
		return ""
	}
	text = q.pending
	q.decided, q.pending = true, ""
	return text
}
