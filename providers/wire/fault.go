package wire

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/tools/lazy"
)

// faultsByCode maps structured error codes of all services to faults. Case and punctuation are
// ignored, since the same code is written invalid_api_key and InvalidApiKey. Four digits are codes
// of GLM and Mistral, which do not collide; MiniMax's are recognized by their place in the body.
var faultsByCode = invert(map[llm.Fault]string{
	llm.Quota: `insufficient_quota billing_hard_limit_reached billing_error billing_not_active exceeded_current_quota_error
		quota_exhausted insufficient_balance insufficient_credits payment_required arrearage free_tier_only
		allocation_quota allocation_quota.free_tier_only usage_limit_reached quota_exceeded budget_exceeded
		contract_spend_limit_reached enforced_spend_limit_reached linked_organization_spend_limit_reached linked_organization_billing_unavailable
		1113 1304 1308 1310 1313 1316 1317 1318 1319 1320 1321 minimax1008 minimax2056`,
	llm.RateLimit: `rate_limit_exceeded rate_limit_reached_error rate_limit throttling
		throttling.rate_quota throttling.allocation_quota throttling.user throttling_exception limit_requests too_many_requests
		1302 1303 1300 3505 minimax1002 minimax1039`,
	llm.Authentication: `invalid_api_key incorrect_api_key api_key_invalid api_key_expired authentication_error
		invalid_authentication_error authentication_failed unauthenticated unauthorized
		1000 1001 1002 1003 1004 1110 1111 1112 minimax1004 minimax2049`,
	llm.Permission: `access_denied model.access_denied failed_precondition
		unsupported_country_region_territory organization_on_hold 1220 1309 1311`,
	llm.ModelNotFound: `model_not_found model_not_exist invalid_model deployment_not_found model_decommissioned 1211`,
	llm.ContextOverflow: `context_length_exceeded context_window_exceeded exceed_context_size_error request_too_large request_body_too_large_after_decoding
		model_context_window_exceeded 1261`,
	llm.ContentFilter: `content_filter content_policy_violation data_inspection_failed responsible_ai_policy_violation
		invalid_prompt bio_policy misalignment_policy_violation image_content_policy_violation moderation moderation_blocked prohibited_content
		imagine:content-moderated 1301 minimax1026 minimax1027`,
	llm.Server: `overloaded_error overloaded engine_overloaded engine_overloaded_error model_capacity_exhausted
		service_unavailable unavailable deadline_exceeded insufficient_system_resource
		1120 1230 1234 1305 1312 minimax1000 minimax1001 minimax1013 minimax1024`,
	llm.InvalidRequest: `unsupported_parameter unsupported_value tool_use_failed json_validate_failed
		1210 1213 1214 1215`, // GLM answers everything with status 429
})

// vagueCodes holds codes that usually come with better evidence, a status or a message. They count
// only without it.
var vagueCodes = invert(map[llm.Fault]string{
	llm.InvalidRequest: `invalid_request_error invalid_argument bad_request invalid_parameter minimax2013`,
	llm.Permission:     `forbidden permission_denied permission_error`,
	llm.RateLimit:      `rate_limit_error`, // Anthropic uses it for a spending limit too
	llm.ModelNotFound:  `not_found_error not_found`,
	llm.Server:         `server_error api_error internal_error internal_server_error internal timeout_error`,
})

// invert returns a function that inverts the table on first use.
func invert(table map[llm.Fault]string) func() map[string]llm.Fault {
	return sync.OnceValue(func() map[string]llm.Fault {
		all := map[string]llm.Fault{}
		for fault, names := range table {
			for _, name := range strings.Fields(names) {
				all[normalizeCode(name)] = fault
			}
		}
		return all
	})
}

// normalizeCode returns a code without case and punctuation.
func normalizeCode(code string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, code)
}

// phrases maps phrases in the message and the codes, in lower case, to faults. The first match
// counts.
var phrases = []struct {
	fault   llm.Fault
	param   string // request field of the error, unless the provider names one
	phrase  *lazy.Regexp
	without *lazy.Regexp // cancels the match
}{
	{llm.Unsupported, "tools", lazy.NewRegexp(`does(n't| not) support (tools|tool use|tool calls|tool calling|function calling|functions)|support tool use|enable-auto-tool-choice|requires --jinja`), nil},
	{llm.Unsupported, "", lazy.NewRegexp(`does(n't| not) support (thinking|reasoning|images?|vision|multimodal|audio)|support (image|audio|video|file) input|(image|audio|video) input is not supported`), nil},
	{llm.ContextOverflow, "", lazy.NewRegexp(`prompt (is )?too long|prompt exceeds max length|request_too_large|input is too long for requested model` +
		`|exceeds? (the )?context (window|limit)|context[_ ]length[_ ]exceeded|maximum context length (is|of) \d|maximum prompt length is \d` +
		`|context window exceeded|input token count.*exceeds the maximum|reduce the length of the messages|maximum allowed input length` +
		`|exceeds the limit of \d|exceeds the available context size|exceed_context_size|greater than the context length` +
		`|keep the first \d+ tokens when context|context window exceeds limit|exceeded model token limit` +
		`|too large for model with \d+ maximum context length|model_context_window_exceeded|range of input length should be` +
		`|exceeded context length|input length exceeds the context length|longer than the maximum model length|too many tokens|token limit exceeded` +
		// Limits in bytes of a service or its gateway.
		`|(request|payload|message|entity|content|body)s?[ -](size|length|body|entity|payload)( \d+)?:?.{0,24}(exceed|too (large|big|long))` +
		`|(request|payload|entity|content|body) (is )?too (large|big|long)|(size|length|bytes) of (the |your |this )?(whole |total )?(request|payload|body).{0,24}(exceed|too (large|big|long))` +
		`|exceed(s|ed|ing)?\b.{0,40}(content length|(request|message|payload|body)[ -](body|size|length))|request exceeds the (maximum|max|allowed) size` +
		`|'(messages|input)(\[\d+\](\.\w+|\[\d+\])*\.(content|output|arguments|text)(\[\d+\])?)?': (string|array) too long` +
		`|message larger than max|request must be smaller than|string value length \(\d+\) exceeds|value at 'body' failed.{0,80}length`),
		lazy.NewRegexp(`rate limit|too many requests|tokens per min|\btpm\b`)},
	{llm.ContentFilter, "", lazy.NewRegexp(`usage guidelines|content management policy|content exists risk|input was flagged|inappropriate content|rejected by content moderation|(contains|has|or) sensitive content`), nil},
	{llm.Quota, "", lazy.NewRegexp(`insufficient (credits?|balance|quota|funds)|credit balance|limit: 0\b|used all available credits|spend(ing)? limit|key limit exceeded|can only afford|out of credits|(any|no|enough) (available |remaining )?credits`), nil},
	{llm.Authentication, "", lazy.NewRegexp(`api key (is )?(not valid|invalid|expired)|(incorrect|invalid|wrong|missing) (api[ -]?key|x-api-key|bearer token)|provide an api key|no auth credentials`), nil},
	{llm.Permission, "", lazy.NewRegexp(`location is not supported|country, region|organization must be verified|consumer has been suspended`), nil},
	{llm.ModelNotFound, "", lazy.NewRegexp(`\bmodels?\b.{0,120}\b(not found|not exist|no such)|(unknown|invalid|no such) model\b|not a valid model|no endpoints found for`), nil},
	{llm.ModelNotFound, "", lazy.NewRegexp(`\bmodels?\b.{0,120}\b(has|have|is|are|was|been|and) (been |now )?(deprecated|retired|decommissioned|discontinued|sunset|shut ?down|no longer (available|supported|served))`), nil},
	// llama.cpp reports a chat template's refusals as server errors.
	{llm.InvalidRequest, "", lazy.NewRegexp(`jinja|roles must alternate|system message must be at the beginning`), nil},
	{llm.Server, "", lazy.NewRegexp(`(currently|temporarily) unavailable|overloaded|loading model|server is busy|at capacity`), nil},
	{llm.RateLimit, "", lazy.NewRegexp(`rate.?limit|too many requests|(tokens|requests) per min`), nil},
}

// faultsByStatus maps HTTP statuses whose fault differs from that of their class.
var faultsByStatus = map[int]llm.Fault{
	401: llm.Authentication,
	402: llm.Quota,
	403: llm.Permission,
	407: llm.Network, // from the proxy
	408: llm.Server,
	409: llm.Server,
	410: llm.ModelNotFound, // gone
	413: llm.ContextOverflow,
	425: llm.Server,
	429: llm.RateLimit,
	451: llm.Permission,
	498: llm.Server, // Groq: flex capacity exceeded
	499: llm.Server,
}

// quotaWait is the shortest delay for which a rate limit counts as a quota.
const quotaWait = 5 * time.Minute

// toError decides which fault the evidence shows.
func (w *evidence) toError(status int) *llm.Error {
	e := &llm.Error{Message: w.message, Param: w.param}
	if len(w.codes) > 0 {
		e.Code = w.codes[0]
	}
	if e.Message == "" {
		e.Message = e.Code
	}
	if e.Message == "" {
		e.Message = http.StatusText(status)
	}
	e.Fault = w.decideFault(e, status)
	if e.Fault == llm.RateLimit && w.delay > quotaWait {
		e.Fault = llm.Quota
	}
	// Groq: a single request exceeds the tokens per minute. That is the plan's limit, not the
	// model's context window, and waiting does not help.
	if status == http.StatusRequestEntityTooLarge && e.Fault == llm.RateLimit {
		e.Fault = llm.Quota
	}
	return e
}

func (w *evidence) decideFault(e *llm.Error, status int) llm.Fault {
	for _, c := range w.codes {
		// Gemini's RESOURCE_EXHAUSTED is a quota only if it is a daily one.
		if n := normalizeCode(c); strings.Contains(n, "perday") || strings.Contains(n, "daily") {
			return llm.Quota
		}
	}
	for _, c := range w.codes {
		if fault, ok := faultsByCode()[normalizeCode(c)]; ok {
			return fault
		}
	}
	said := strings.ToLower(w.message + "\n" + strings.Join(w.codes, "\n"))
	for _, p := range phrases {
		if p.phrase.MatchString(said) && (p.without == nil || !p.without.MatchString(said)) {
			if e.Param == "" {
				e.Param = p.param
			}
			return p.fault
		}
	}
	if status < 400 {
		status = w.status
	}
	if fault, ok := faultsByStatus[status]; ok {
		return fault
	}
	switch {
	case status == http.StatusNotFound && strings.Contains(said, "model"):
		return llm.ModelNotFound
	case status >= 500:
		return llm.Server
	case status >= 400:
		return llm.InvalidRequest
	}
	for _, c := range w.codes {
		if fault, ok := vagueCodes()[normalizeCode(c)]; ok {
			return fault
		}
	}
	return llm.Unknown
}
