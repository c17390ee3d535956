package wire_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestFault(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		fault  llm.Fault
		rest   string // code, param, message
	}{
		{"openai, key", 401, `{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, llm.Authentication, "invalid_api_key||Incorrect API key provided: sk-x."},
		{"openai, quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Quota, "insufficient_quota||You exceeded your current quota"},
		{"openai, billing", 403, `{"error":{"message":"Billing hard limit has been reached","code":"billing_hard_limit_reached"}}`, llm.Quota, ""},
		{"openai, rate", 429, `{"error":{"message":"Rate limit reached for gpt on tokens per min (TPM): Limit 3, Used 3","type":"tokens","code":"rate_limit_exceeded"}}`, llm.RateLimit, ""},
		{"openai, model", 404, `{"error":{"message":"The model 'gpt-9' does not exist","type":"invalid_request_error","code":"model_not_found"}}`, llm.ModelNotFound, ""},
		{"openai, context", 400, `{"error":{"message":"too long","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, llm.ContextOverflow, "context_length_exceeded|messages|too long"},
		{"openai, parameter", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, llm.InvalidRequest, "unsupported_parameter|max_tokens|Unsupported parameter: 'max_tokens' is not supported with this model."},
		{"openai, filter", 400, `{"error":{"message":"no","code":"content_policy_violation"}}`, llm.ContentFilter, ""},
		{"openai, trouble", 500, `{"error":{"message":"The server had an error","type":"server_error","code":null}}`, llm.Server, "server_error||The server had an error"},
		{"openai, string", 400, `{"error":{"message":"Invalid 'messages[41].content': string too long. Expected a string with maximum length 10485760, but got a string with length 10485799 instead.","type":"invalid_request_error","param":"messages[41].content","code":"string_above_max_length"}}`, llm.ContextOverflow, ""},
		{"openai, name", 400, `{"error":{"message":"Invalid 'messages[4].tool_calls[0].function.name': string too long. Expected a string with maximum length 64.","type":"invalid_request_error","code":"string_above_max_length"}}`, llm.InvalidRequest, ""},
		{"openai, tools", 400, `{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 130 instead.","type":"invalid_request_error","code":"array_above_max_length"}}`, llm.InvalidRequest, ""},
		{"bytes, databricks", 400, `{"error_code":"BAD_REQUEST","message":"Server got a request that exceeds maximum allowed content length. RequestSize(bytes): 20000001, Limit(bytes): 16777216."}`, llm.ContextOverflow, ""},
		{"bytes, a gateway", 400, `{"error":{"message":"Request size cannot exceed 4000000 bytes.","type":"invalid_request_error"}}`, llm.ContextOverflow, ""},
		{"bytes, gemini", 400, `{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}`, llm.ContextOverflow, ""},
		{"bytes, gemini over gRPC", 429, `{"error":{"code":429,"message":"Received message larger than max (5242880 vs. 4194304)","status":"RESOURCE_EXHAUSTED"}}`, llm.ContextOverflow, ""},
		{"bytes, dashscope", 400, `{"code":"InvalidParameter","message":"Exceeded limit on max bytes to request body : 6291456"}`, llm.ContextOverflow, ""},
		{"bytes, kimi", 400, `{"error":{"message":"Invalid request: total message size 3000000 exceeds limit 2097152","type":"invalid_request_error"}}`, llm.ContextOverflow, ""},
		{"bytes, axum", 400, "Failed to buffer the request body: length limit exceeded", llm.ContextOverflow, ""},
		{"bytes, express", 500, "PayloadTooLargeError: request entity too large", llm.ContextOverflow, ""},
		{"bytes, go", 400, `{"error":{"message":"http: request body too large"}}`, llm.ContextOverflow, ""},
		{"bytes, jackson", 400, `{"error":{"message":"String value length (20054016) exceeds the maximum allowed (20000000)"}}`, llm.ContextOverflow, ""},
		{"bytes, unpacked", 413, `{"type":"error","error":{"type":"invalid_request_error","message":"too big","details":{"error_code":"request_body_too_large_after_decoding"}}}`, llm.ContextOverflow, ""},
		{"bytes of an image", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"}}`, llm.InvalidRequest, ""},
		{"an image of DashScope's", 400, `{"code":"InvalidParameter","message":"Exceeded limit on max bytes per data-uri item : 10485760"}`, llm.InvalidRequest, ""},
		{"a body that is too many", 429, `{"error":{"message":"Request size of 3000 exceeds your rate limit","type":"rate_limit_error"}}`, llm.RateLimit, ""},
		{"llama.cpp, blind", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, llm.Unsupported, ""},
		{"ollama, blind", 400, `{"error":{"message":"this model does not support multimodal requests","type":"api_error"}}`, llm.Unsupported, ""},
		{"xai, no credits yet", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai."}`, llm.Quota, ""},
		{"openrouter, limit of a key", 403, `{"error":{"message":"Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys","code":403}}`, llm.Quota, ""},
		{"quota as a code", 400, `{"error":{"message":"You have no quota","code":"quota_exceeded"}}`, llm.Quota, ""},
		{"quota as a type", 429, `{"error":{"message":"no","type":"quota_exceeded"}}`, llm.Quota, ""},
		{"google, quota as a reason", 403, `{"error":{"code":403,"message":"no","errors":[{"domain":"usageLimits","reason":"quotaExceeded","message":"no"}]}}`, llm.Quota, ""},
		{"google, quota in details", 403, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED","details":[{"reason":"quotaExceeded"}]}}`, llm.Quota, ""},
		{"anthropic, contract", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"no","details":{"error_code":"contract_spend_limit_reached"}}}`, llm.Quota, "contract_spend_limit_reached||no"},
		{"anthropic, contract as a type", 403, `{"type":"error","error":{"type":"contract_spend_limit_reached","message":"no"}}`, llm.Quota, ""},
		{"anthropic, month", 429, `{"type":"error","error":{"details":null,"type":"rate_limit_error","message":"This request would exceed your account's monthly spend limit."}}`, llm.Quota, ""},
		{"anthropic, rate", 429, `{"type":"error","error":{"details":null,"type":"rate_limit_error","message":"This request would exceed your organization's limit"}}`, llm.RateLimit, "rate_limit_error||This request would exceed your organization's limit"},
		{"litellm, budget", 400, `{"error":{"message":"Budget has been exceeded! Current cost: 3, Max budget: 2","type":"budget_exceeded","param":null,"code":"400"}}`, llm.Quota, ""},
		{"azure, filter", 400, `{"error":{"message":"The response was filtered","code":"bad_request","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.ContentFilter, ""},
		{"azure, what its filter found", 400, `{"error":{"message":"The response was filtered.","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"high"},"self_harm":{"filtered":true},"hate":{"filtered":false,"severity":"safe"}}}}}`, llm.ContentFilter,
			"content_filter||The response was filtered: self harm, violence (high)"},
		{"xai, text", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xx"}`, llm.Authentication, "Client specified an invalid argument||Incorrect API key provided: xx"},
		{"xai, guidelines", 403, `{"code":"forbidden by policy","error":"Content violates usage guidelines."}`, llm.ContentFilter, ""},
		{"xai, guidelines under a plain code", 403, `{"code":"Forbidden","error":"Content violates usage guidelines. Failed check: X"}`, llm.ContentFilter, ""},
		{"xai, credits", 403, `{"code":"The caller does not have permission","error":"Your team has either used all available credits or reached its monthly spending limit."}`, llm.Quota, ""},
		{"xai, context", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}`, llm.ContextOverflow, ""},
		{"anthropic, key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_1"}`, llm.Authentication, "authentication_error||invalid x-api-key"},
		{"anthropic, overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Server, "overloaded_error||Overloaded"},
		{"anthropic, money", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, llm.Quota, ""},
		{"anthropic, context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ContextOverflow, ""},
		{"anthropic, max_tokens", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 1 + 2 > 3"}}`, llm.ContextOverflow, ""},
		{"anthropic, model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`, llm.ModelNotFound, ""},
		{"anthropic, size", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, llm.ContextOverflow, ""},
		{"gemini, rate", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`, llm.RateLimit, ""},
		{"gemini, day", 429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`, llm.Quota, "RESOURCE_EXHAUSTED||You exceeded your current quota"},
		{"gemini, none at all", 429, `{"error":{"code":429,"message":"Quota exceeded for metric: x, limit: 0, model: y","status":"RESOURCE_EXHAUSTED"}}`, llm.Quota, ""},
		{"gemini, hours", 429, `{"error":{"code":429,"message":"exhausted","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"3600s"}]}}`, llm.Quota, ""},
		{"gemini, capacity", 429, `{"error":{"code":429,"message":"No capacity","status":"RESOURCE_EXHAUSTED","details":[{"reason":"MODEL_CAPACITY_EXHAUSTED"}]}}`, llm.Server, ""},
		{"gemini, key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`, llm.Authentication, "INVALID_ARGUMENT||API key not valid. Please pass a valid API key."},
		{"gemini, country", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, llm.Permission, ""},
		{"gemini, overloaded", 503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`, llm.Server, ""},
		{"gemini, context", 400, `{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, llm.ContextOverflow, ""},
		{"gemini, model", 404, `{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}`, llm.ModelNotFound, ""},
		{"gemini, schema", 400, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"x\"","status":"INVALID_ARGUMENT"}}`, llm.InvalidRequest, ""},
		{"glm, concurrency", 429, `{"error":{"code":"1302","message":"too many concurrent requests"}}`, llm.RateLimit, "1302||too many concurrent requests"},
		{"glm, balance", 429, `{"error":{"code":"1113","message":"Insufficient balance"}}`, llm.Quota, ""},
		{"glm, number", 429, `{"error":{"code":1305,"message":"busy"}}`, llm.Server, "1305||busy"},
		{"glm, filter", 400, `{"error":{"code":"1301","message":"sensitive"}}`, llm.ContentFilter, ""},
		{"glm, arguments", 429, `{"error":{"code":"1210","message":"API parameters are wrong"}}`, llm.InvalidRequest, ""},
		{"glm, a missing parameter", 429, `{"error":{"code":1213,"message":"the parameter was not received"}}`, llm.InvalidRequest, ""},
		{"glm, context", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, llm.ContextOverflow, ""},
		{"qwen, arrears", 400, `{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","request_id":"r-1"}`, llm.Quota, "Arrearage||Access denied, please make sure your account is in good standing."},
		{"qwen, throttling", 429, `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded"}`, llm.RateLimit, ""},
		{"qwen, inspection", 400, `{"error":{"code":"data_inspection_failed","message":"x","type":"data_inspection_failed"}}`, llm.ContentFilter, ""},
		{"qwen, key", 401, `{"code":"InvalidApiKey","message":"Invalid API-key provided."}`, llm.Authentication, ""},
		{"qwen, context", 400, `{"error":{"message":"Range of input length should be [1, 30720]","type":"invalid_request_error","code":"invalid_parameter_error"}}`, llm.ContextOverflow, ""},
		{"deepseek, money", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, llm.Quota, ""},
		{"minimax, rate", 500, `{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}`, llm.RateLimit, "minimax1002||rate limit"},
		{"openrouter, credits", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.Quota, "||Insufficient credits"},
		{"openrouter, moderation", 403, `{"error":{"message":"Input rejected","code":403,"metadata":{"reasons":["violence"],"provider_name":"OpenAI"}}}`, llm.ContentFilter, "moderation||Input rejected: violence (OpenAI)"},
		{"openrouter, upstream", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"busy, retry in 3s\"}}","provider_name":"X"}}}`, llm.RateLimit, "||Provider returned error: busy, retry in 3s (X)"},
		{"openrouter, tools", 404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, llm.Unsupported, "|tools|No endpoints found that support tool use."},
		{"openrouter, model", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, llm.ModelNotFound, ""},
		{"kimi, quota", 429, `{"error":{"type":"exceeded_current_quota_error","message":"x"}}`, llm.Quota, ""},
		{"kimi, busy", 429, `{"error":{"type":"engine_overloaded_error","message":"x"}}`, llm.Server, ""},
		{"kimi, context", 400, `{"error":{"type":"invalid_request_error","message":"Invalid request: Your request exceeded model token limit: 262144"}}`, llm.ContextOverflow, ""},
		{"mistral, flat", 429, `{"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}`, llm.RateLimit, "1300||Requests rate limit exceeded"},
		{"mistral, list", 422, `{"detail":[{"loc":["body","messages",0],"msg":"Field required","type":"missing"}]}`, llm.InvalidRequest, "||body.messages.0: Field required"},
		{"mistral, key", 401, `{"message":"Unauthorized","request_id":"m-1"}`, llm.Authentication, "||Unauthorized"},
		{"mistral, context", 400, `{"object":"error","message":"Prompt contains 50000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, llm.ContextOverflow, ""},
		{"groq, one request too large", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce the length of the messages","type":"tokens","code":"rate_limit_exceeded"}}`, llm.Quota, ""},
		{"groq, context", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages"}}`, llm.ContextOverflow, ""},
		{"groq, tool", 400, `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"x"}}`, llm.InvalidRequest, "tool_use_failed||Failed to call a function."},
		{"groq, flex", 498, `{}`, llm.Server, ""},
		{"ollama, tools", 400, `{"error":{"message":"registry.ollama.ai/library/x does not support tools","type":"invalid_request_error"}}`, llm.Unsupported, "invalid_request_error|tools|registry.ollama.ai/library/x does not support tools"},
		{"ollama, model", 404, `{"error":{"message":"model 'x' not found","type":"api_error"}}`, llm.ModelNotFound, ""},
		{"ollama, context", 400, `{"error":"prompt too long; exceeded context length"}`, llm.ContextOverflow, ""},
		{"llama.cpp, context", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`, llm.ContextOverflow, ""},
		{"llama.cpp, loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, llm.Server, ""},
		{"llama.cpp, template", 500, `{"error":{"code":500,"message":"Conversation roles must alternate user/assistant","type":"server_error"}}`, llm.InvalidRequest, ""},
		{"llama.cpp, no jinja", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, llm.Unsupported, ""},
		{"vllm, tools", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","code":400}`, llm.Unsupported, ""},
		{"vllm, model", 404, `{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","code":404}}`, llm.ModelNotFound, ""},
		{"vllm, context", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, llm.ContextOverflow, ""},
		{"vllm, decoder prompt", 400, `{"error":{"message":"The decoder prompt (length 40013) is longer than the maximum model length of 32768. Make sure that ` + "`max_model_len`" + ` is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}}`, llm.ContextOverflow, ""},
		{"lm studio, context", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, llm.ContextOverflow, ""},
		{"cloudflare", 401, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"result":null}`, llm.Authentication, "10000||Authentication error"},
		{"a gateway's JSON in text", 400, `{"error":{"message":"litellm.BadRequestError: {\"error\":{\"message\":\"prompt is too long\",\"type\":\"x\"}}"}}`, llm.ContextOverflow, "x||litellm.BadRequestError: prompt is too long"},
		{"fastapi", 404, `{"detail":"Not Found"}`, llm.InvalidRequest, "||Not Found"},
		{"plain text", 502, "upstream\r\n\tdown\x1b[31m", llm.Server, "||upstream down"},
		{"nothing", 503, "", llm.Server, "||Service Unavailable"},
		{"numbers in words are no status", 400, `{"error":{"message":"tool 401 returned 429 tokens, 500 wanted"}}`, llm.InvalidRequest, ""},
		{"a path", 404, "404 page not found", llm.InvalidRequest, ""},
		{"forbidden", 403, "", llm.Permission, "||Forbidden"},
		{"timeout", 408, "", llm.Server, ""},
		{"too early", 425, "", llm.Server, ""},
		{"proxy", 407, "", llm.Network, ""},
		{"page", 502, "<html><head><title>502 Bad\nGateway</title></head><body><h1>nginx</h1></body></html>", llm.Server, "||answered with a web page (text/html) \"502 Bad Gateway\""},
		{"page without title", 403, "<!DOCTYPE html><p>x", llm.Permission, "||answered with a web page (text/html)"},
	} {
		e := wire.StatusError(tt.status, header(), []byte(tt.body), now)
		if e.Fault != tt.fault || e.Status != tt.status {
			t.Errorf("%s: %s (%d), want %s: %s", tt.name, e.Fault, e.Status, tt.fault, e.Message)
		}
		if got := e.Code + "|" + e.Param + "|" + e.Message; tt.rest != "" && got != tt.rest {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.rest)
		}
	}
}

func TestRequestID(t *testing.T) {
	for _, tt := range []struct {
		header http.Header
		body   string
		want   string
	}{
		{header("X-Request-Id", "a", "Cf-Ray", "b"), "", "a"},
		{header("Request-Id", "req_1"), "", "req_1"},
		{header("Cf-Ray", "b"), `{"request_id":"c"}`, "b"},
		{nil, `{"error":{"message":"x"},"request_id":"c"}`, "c"},
		{nil, "", ""},
	} {
		if got := wire.StatusError(500, tt.header, []byte(tt.body), now).ID; got != tt.want {
			t.Errorf("%v %s: id %q, want %q", tt.header, tt.body, got, tt.want)
		}
	}
}

func TestEventFault(t *testing.T) {
	for _, tt := range []struct {
		body  string
		fault llm.Fault // "" for none
		want  string    // status, message
	}{
		{`{"choices":[{"delta":{"content":"\"error\""}}]}`, "", ""},
		{`{"error":null,"choices":[]}`, "", ""},
		{`{"error":"","choices":[]}`, "", ""},
		{`{"error":{},"choices":[]}`, "", ""},
		{`{"error":false}`, "", ""},
		{`{"choices":[],"base_resp":{"status_code":0,"status_msg":""}}`, "", ""},
		{`{"type":"response.completed","response":{"error":null,"output":[{"code":"x","message":"y"}]}}`, "", ""},
		{`{"object":"list","data":[],"code":"x","message":"y"}`, "", ""},
		{`{"code":0,"message":"ok"}`, "", ""},
		{`{"code":"","message":"ok"}`, "", ""},
		{`{"message":"hello"}`, "", ""},
		{`{"detail":"x","choices":[]}`, "", ""},
		{`{"type":"content_block_start","detail":"x"}`, "", ""},
		{`{"error":"cut`, "", ""},
		{`"error"`, "", ""},
		{``, "", ""},
		{`{"id":"x","choices":[{"finish_reason":"error"}],"error":{"code":502,"message":"Provider disconnected"}}`, llm.Server, "502 Provider disconnected"},
		{`{"error":{"message":"too many","code":"rate_limit_exceeded"}}`, llm.RateLimit, "0 too many"},
		{`{"error":"Model crashed"}`, llm.Unknown, "0 Model crashed"},
		{`{"code":"The service is currently unavailable","error":"Service temporarily unavailable."}`, llm.Server, "0 Service temporarily unavailable."},
		{`[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]`, llm.Server, "503 busy"},
		{`{"object":"error","message":"no","type":"invalid_request_error","code":400}`, llm.InvalidRequest, "400 no"},
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Server, "0 Overloaded"},
		{`{"type":"error","code":"server_error","message":"oops","param":null}`, llm.Server, "0 oops"},
		{`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}}`, llm.RateLimit, "0 slow down"},
		{`{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"},"choices":null}`, llm.Quota, "0 insufficient balance"},
		{`{"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, llm.ContextOverflow, "0 invalid params, context window exceeds limit"},
		{`{"base_resp":{"status_code":2013,"status_msg":"invalid params"}}`, llm.InvalidRequest, "0 invalid params"},
		{`{"code":"InvalidParameter","message":"bad","request_id":"q"}`, llm.InvalidRequest, "0 bad"},
		{`{"detail":"gone"}`, llm.Unknown, "0 gone"},
		{`{"detail":[{"loc":["body"],"msg":"bad"}]}`, llm.Unknown, "0 body: bad"},
	} {
		e := wire.EventError([]byte(tt.body))
		switch {
		case e == nil && tt.fault != "":
			t.Errorf("%s: no fault, want %s", tt.body, tt.fault)
		case e != nil && e.Fault != tt.fault:
			t.Errorf("%s: %q (%s), want %q", tt.body, e.Fault, e.Message, tt.fault)
		case e != nil:
			if got := fmt.Sprint(e.Status, " ", e.Message); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.body, got, tt.want)
			}
		}
	}
}

func TestWait(t *testing.T) {
	const (
		ms = time.Millisecond
		s  = time.Second
		m  = time.Minute
		h  = time.Hour
	)
	for _, tt := range []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
	}{
		{"nothing", nil, "", 0},
		{"seconds", header("Retry-After", "2"), "", 2 * s},
		{"fraction", header("Retry-After", "0.5"), "", 500 * ms},
		{"long", header("Retry-After", "120"), "", 120 * s},
		{"date", header("Retry-After", "Fri, 20 Nov 2026 12:00:30 GMT"), "", 30 * s},
		{"date by the server's clock", header("Retry-After", "Fri, 20 Nov 2026 15:00:30 GMT", "Date", "Fri, 20 Nov 2026 15:00:00 GMT"), "", 30 * s},
		{"past date", header("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), "", 0},
		{"negative", header("Retry-After", "-1"), "", 0},
		{"zero", header("Retry-After", "0"), "", 0},
		{"words", header("Retry-After", "abc"), "", 0},
		{"huge", header("Retry-After", "99999999999999999999"), "", 0},
		{"infinite", header("Retry-After", "+Inf"), "", 0},
		{"no number", header("Retry-After", "NaN"), "", 0},
		{"milliseconds", header("Retry-After-Ms", "1500", "Retry-After", "2"), "", 1500 * ms},
		{"broken milliseconds", header("Retry-After-Ms", "x", "Retry-After", "2"), "", 2 * s},
		{"gemini", nil, `{"error":{"code":429,"message":"Please retry in 99s","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`, 34070 * ms},
		{"gemini, milliseconds", nil, `{"error":{"details":[{"retryDelay":"900ms"}]}}`, 900 * ms},
		{"bucket", header("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s"), "", 6 * time.Minute},
		{"bucket, short", header("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "120ms"), "", 120 * ms},
		{"bucket that is not empty", header("x-ratelimit-remaining-tokens", "10", "x-ratelimit-reset-tokens", "6m0s"), "", 0},
		{"bucket that says nothing", header("x-ratelimit-reset-tokens", "6m0s"), "", 0},
		{"the empty one of two", header("x-ratelimit-remaining-requests", "5", "x-ratelimit-reset-requests", "1h", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "7.66s"), "", 7660 * ms},
		{"bucket, seconds", header("x-ratelimit-remaining", "0", "x-ratelimit-reset", "12"), "", 12 * s},
		{"bucket, epoch", header("x-ratelimit-remaining", "0", "x-ratelimit-reset", "1795176010"), "", 10 * s},
		{"bucket, epoch in ms", header("x-ratelimit-remaining", "0", "x-ratelimit-reset", "1795176010500"), "", 10500 * ms},
		{"anthropic", header("anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "2026-11-20T12:00:45Z"), "", 45 * s},
		{"openrouter", nil, `{"error":{"code":429,"message":"x","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795176003000"}}}}`, 3 * s},
		{"words of groq", nil, `{"error":{"message":"Rate limit reached. Please try again in 7.66s. Visit x"}}`, 7660 * ms},
		{"minutes in words", nil, `{"error":{"message":"try again in 1m30.5s"}}`, 90500 * ms},
		{"words of azure", nil, `{"error":{"message":"Please retry after 23 seconds."}}`, 23 * s},
		{"milliseconds in words", nil, "try again in 250ms", 250 * ms},
		{"no unit", nil, "try again in 5", 0},
		{"later", nil, "try again later", 0},
		{"months", nil, "try again in 5 months", 0},
		{"days in words", nil, "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.", 76*h + 5*m},
		{"quota of gemini cli", nil, "Your quota will reset after 18h31m10s.", 18*h + 31*m + 10*s},
		{"subscription, in seconds", nil, `{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":7200}}`, 2 * h},
		{"subscription, at a time", nil, `{"error":{"type":"usage_limit_reached","message":"x","resets_at":1795183200}}`, 2 * h},
		{"subscription, past", nil, `{"error":{"type":"usage_limit_reached","message":"x","resets_at":1795172400}}`, 0},
		{"subscription, no number", nil, `{"error":{"type":"usage_limit_reached","message":"x","resets_at":"soon"}}`, 0},
		{"clock in a zone", nil, "You've hit your limit · resets 3pm (Europe/Berlin)", 2*h + m},
		{"clock with minutes", nil, "resets 9:30am (America/New_York)", 2*h + 31*m},
		{"clock of tomorrow", nil, "resets 11am (UTC)", 23*h + m},
		{"clock that has just passed", nil, "resets 11:55am (UTC)", 0},
		{"clock, not over yet", nil, "try again at 12:00 PM.", m},
		{"clock of 24 hours", nil, "retry at 14:05", 2*h + 6*m},
		{"clock in an unknown zone", nil, "resets 3pm (Mars/Phobos)", 3*h + m},
		{"clock in a hostile zone", nil, "resets 3pm (../../etc/passwd)", 3*h + m},
		{"date in a zone", nil, "You've hit your weekly limit · resets Nov 23, 3pm (Europe/Berlin)", 74*h + m},
		{"date of codex", nil, "try again at Nov 22nd, 2026 3:04 PM.", 51*h + 5*m},
		{"date of next year", nil, "resets Jan 2 at 12am (UTC)", (42*24+12)*h + m},
		{"past date in words", nil, "resets Nov 2, 3pm (UTC)", 0},
		{"no date", nil, "resets Foo 99, 3pm", 0},
		{"no clock", nil, "resets 25:99", 0},
		{"an hour without a clock", nil, "retry after 3 attempts", 0},
		{"in ten years", nil, "try again at Nov 22nd, 2036 3:04 PM.", 0},
		{"limit of glm, in China's time", nil, `{"error":{"code":"1308","message":"Usage limit reached for 5 hour. Your limit will reset at 2026-11-20 21:00:30"}}`, h + 30*s},
		{"limit of glm in Chinese", nil, `{"error":{"code":"1310","message":"您的限额将在 2026-11-20 21:00:30 重置。"}}`, h + 30*s},
		{"date and time of another service", nil, "retry after 2026-11-20T12:00:30+00:00", 30 * s},
		{"epoch of claude code", nil, "Claude AI usage limit reached|1795183200", 2 * h},
	} {
		if got := wire.Wait(tt.header, []byte(tt.body), now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	bucket := header("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s")
	if got := wire.StatusError(503, bucket, nil, now).Wait; got != 0 {
		t.Errorf("a bucket beside a 503: %s, want 0", got)
	}
	if got := wire.StatusError(429, bucket, nil, now).Wait; got != 6*time.Minute {
		t.Errorf("a bucket beside a 429: %s, want 6m", got)
	}
}

func FuzzWait(f *testing.F) {
	f.Add("Retry-After", "2", "try again in 1m2s")
	f.Add("Retry-After", "Fri, 20 Nov 2026 12:00:30 GMT", "")
	f.Add("X-Ratelimit-Reset", "1795176010500", `{"error":{"details":[{"retryDelay":"9s"}]}}`)
	f.Add("", "", "resets Nov 30, 3:30pm (Europe/Berlin), will reset at 2026-11-30 19:01:25, try again at Dec 1st, 2026 3 PM")
	f.Fuzz(func(t *testing.T, name, value, body string) {
		h := http.Header{name: {value}, "X-Ratelimit-Remaining": {"0"}}
		if d := wire.Wait(h, []byte(body), now); d < 0 || d > 366*24*time.Hour {
			t.Errorf("%s", d)
		}
	})
}

func FuzzFault(f *testing.F) {
	for _, body := range []string{`{"error":{"message":"x","code":1,"details":[{"violations":[{"quotaId":"PerDay"}]}]}}`, `[{"error":"x"}]`, `{"detail":[{"loc":[1],"msg":"x"}]}`,
		`{"base_resp":{"status_code":1}}`, `{"error":{"metadata":{"raw":"{\"error\":\"x\"}","headers":{"a":1}}}}`, "<html><title>x</title>", "\x1b[0m\r\n"} {
		f.Add(429, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := wire.StatusError(status, nil, []byte(body), now)
		if e.Fault == "" {
			t.Errorf("%q: no fault", body)
		}
		for _, s := range []string{e.Message, e.Code, e.ID, e.Param} {
			if strings.ContainsAny(s, "\n\r\x1b\x00") {
				t.Errorf("%q: control characters in %q", body, s)
			}
		}
		if e := wire.EventError([]byte(body)); e != nil && e.Fault == "" {
			t.Errorf("%q: an event without a fault", body)
		}
	})
}

func BenchmarkEventFault(b *testing.B) {
	chunk := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"gpt","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if wire.EventError(chunk) != nil {
			b.Fatal("found one")
		}
	}
}

func TestCaught(t *testing.T) {
	for raw, want := range map[string]string{
		`{"violence":{"filtered":true,"severity":"medium"},"hate":{"filtered":false,"severity":"safe"}}`: "violence (medium)",
		`{"jailbreak":{"detected":true,"filtered":true},"custom_blocklists":{"filtered":true}}`:          "custom blocklists, jailbreak",
		`{"x":{"filtered":true,"severity":"a\nb\u001b[31m"}}`:                                            "x (a b)",
		`{"x":"filtered"}`: "", `[]`: "", `null`: "", ``: "", `{`: "",
	} {
		if got := wire.FilteredCategories([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}
