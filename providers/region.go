package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// An address holds the user's parts of a service's address.
type address struct {
	values           map[string]string  // by name of the catalog's variable
	models           []string           // the user's names for models there
	missing          string             // next step for a user without an address; "" for none
	missingVariables []catalog.Variable // variables without a value that the address or its models need
	err              error              // why a value is invalid
}

// fillAddress sets the variables of a catalog address: from the configuration, else from the stored
// connection, else from the environment, else to their defaults.
func fillAddress(s *service, stored KeyStore, getenv func(string) string) {
	if len(s.builtin.Variables) == 0 {
		return
	}
	a := address{values: map[string]string{}}
	var kept map[string]string
	if stored != nil {
		kept, _ = stored.Variables(s.name)
	}
	for _, v := range s.builtin.Variables {
		text, from := s.conf.Variables[v.Name], v.Name
		if text == "" {
			text = kept[v.Name]
		}
		for _, name := range v.Env {
			if text == "" && strings.TrimSpace(getenv(name)) != "" {
				text, from = getenv(name), name
			}
		}
		if text == "" {
			continue
		}
		value, err := s.builtin.Parse(v, text)
		if err != nil {
			a.err = cmp.Or(a.err, fmt.Errorf("%s: %w", from, err))
			continue
		}
		a.values[v.Name] = value
		a.models = append(a.models, v.ModelNames(value)...)
	}
	var missing []catalog.Variable
	s.url, missing = s.builtin.Expand(s.url, a.values)
	for _, v := range missing {
		a.missingVariables = append(a.missingVariables, v)
		a.missing = cmp.Or(a.missing, "set "+strings.Join(append(v.Env, v.Name+" under [providers."+s.name+".variables]"), " or "))
	}
	for _, v := range s.builtin.Variables {
		if v.Models && a.values[v.Name] == "" {
			a.missingVariables = append(a.missingVariables, v)
		}
	}
	if a.err != nil {
		a.missing = "correct " + a.err.Error()
	}
	s.address = a
}

// addressError returns why a service has no address; nil if it has one.
func addressError(s service) error {
	if s.address.missing == "" {
		return nil
	}
	if s.address.err != nil {
		return fmt.Errorf("%s cannot be asked: %w", s.name, s.address.err)
	}
	return missingVariableError(s)
}

// missingVariableError returns the error for a service whose address or models need a variable
// without a value. It names the first one and says how to set them all.
func missingVariableError(s service) error {
	v := s.address.missingVariables[0]
	return &llm.Error{
		Fault: llm.Authentication, Provider: s.name, Key: strings.Join(v.Env[:min(len(v.Env), 1)], ""), Param: connectArgs(s),
		KeyMissing: true, Message: fmt.Sprintf("%s needs its %s: %s", s.builtin.Name, v.Noun(), strings.ToLower(v.Help[:1])+v.Help[1:]), Err: llm.ErrNoKey,
	}
}

// connectArgs returns the arguments that connect s: the names of variables without a value, and
// NAME=VALUE for those that differ from their default.
func connectArgs(s service) string {
	var args []string
	for _, v := range s.builtin.Variables {
		value := s.address.values[v.Name]
		switch {
		case slices.ContainsFunc(s.address.missingVariables, func(l catalog.Variable) bool { return l.Name == v.Name }):
			args = append(args, v.Name)
		case value != "" && value != v.Default:
			args = append(args, v.Name+"="+value)
		}
	}
	return strings.Join(args, " ")
}

// notReady returns why a service cannot be used: its key or address is missing; nil if it can.
func notReady(s service) error {
	if s.key.hint != "" {
		return s.missingKeyError()
	}
	return addressError(s)
}

// suggestRegions adds to an error for a misplaced key the addresses where the key may be valid: keys are
// bound to a region, or to a plan.
func (s service) suggestRegions(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	plan := s.row.wrongPlan != "" && e.Code == s.row.wrongPlan
	others := s.otherURLs(plan)
	if !plan && e.Status != http.StatusUnauthorized || len(others) == 0 {
		return err
	}
	return withHint(e, "a key of this service is good at one of its addresses only: if yours is of another plan or region, set base_url = "+strings.Join(others, " or "))
}

// otherURLs lists the other addresses of a service with the same wire format, as base_url values:
// all, or those on the same host. It returns none for an address that is not in the catalog.
func (s service) otherURLs(host bool) (list []string) {
	like := s.closestBuiltin()
	all := maps.Clone(like.Regions)
	if all == nil {
		return nil
	}
	all[""] = like.BaseURL
	if !slices.Contains(slices.Collect(maps.Values(all)), s.url) {
		return nil
	}
	here := hostOf(s.url)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		address := all[name]
		if address == s.url || isMessagesURL(address) != isMessagesURL(s.url) || host && hostOf(address) != here {
			continue
		}
		list = append(list, fmt.Sprintf("%q", address))
	}
	return list
}

// isMessagesURL reports whether an address speaks Anthropic's wire format.
func isMessagesURL(address string) bool { return strings.HasSuffix(address, "/anthropic") }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// A cloudError is an error of a cloud with advice of its own. In the advice, {name} is the value of
// an address variable, and {model} the model.
type cloudError struct {
	providers string // ids in the catalog, separated by spaces
	status    int    // 0 for any
	words     string // lower-case phrases separated by |; the code or message contains one
	fault     llm.Fault
	advice    string
}

// cloudErrors holds observed errors of Azure, Amazon and Google; the first matching row counts. A
// fault other than "" replaces the error's own.
var cloudErrors = []cloudError{
	{"azure foundry foundry-claude", 0, "deploymentnotfound|deployment for this resource does not exist|unknown_model", llm.ModelNotFound,
		"a model of Azure is called as its deployment in the resource {resource}: create one, or name yours, as in {provider}/DEPLOYMENT (a new one takes minutes)"},
	{"azure", 400, "operationnotsupported|does not work with the specified model|unsupported data type|not supported with the responses api", "",
		`if this deployment speaks no Responses, set kind = "openai" under [providers.azure]`},
	{"azure foundry foundry-claude", 401, "principal does not have access|permissiondenied|lacks the required data action", llm.Permission,
		"the account needs the role Cognitive Services OpenAI User on the resource {resource}"},
	{"azure foundry foundry-claude", 401, "", llm.Authentication,
		"the key or token has to be one of the resource {resource}"},
	{"bedrock bedrock-claude", 0, "expired", llm.Authentication,
		"the key has expired: short-term keys of Amazon Bedrock last twelve hours at most"},
	{"bedrock bedrock-claude", 0, "on-demand throughput|inference profile", llm.ModelNotFound,
		"in {region} this model has inference profiles only: put us., eu., apac. or global. before its name"},
	{"bedrock bedrock-claude", 403, "access to the model|not authorized|accessdenied|access denied", "",
		"the key needs access to this model in {region}: request it in the Amazon Bedrock console, and allow bedrock:InvokeModel and bedrock:CallWithBearerToken"},
	{"bedrock bedrock-claude", 0, "model identifier is invalid|model_not_found|does not exist|not found|doesn't support the model", llm.ModelNotFound,
		"{region} may not have this model: set region under [providers.{provider}.variables]"},
	{"vertex vertex-claude", 0, "service_disabled|has not been used in project|api is not enabled", llm.Permission,
		"enable it with gcloud services enable aiplatform.googleapis.com --project {project}, then wait some minutes"},
	{"vertex vertex-claude", 404, "", llm.ModelNotFound,
		"the location {location} may not have this model, or the project {project} has not enabled it in Model Garden"},
	{"vertex-claude", 400, "not servable in region|not supported in", llm.ModelNotFound,
		"the location {location} does not have this model: set location under [providers.{provider}.variables]"},
	{"vertex vertex-claude", 403, "", "",
		"the account needs the role Vertex AI User in the project {project}"},
	{"vertex vertex-claude", 401, "", llm.Authentication,
		"log in again with gcloud auth application-default login; API keys are for the provider vertex-express"},
	{"vertex-express", 0, "api key not valid|api_key_invalid|unauthenticated", llm.Authentication,
		"this provider takes express keys of Vertex AI; keys of Google AI Studio are for the provider gemini"},
}

// adviseCloud adds advice to a cloud's error; ok is false if no row matches.
func adviseCloud(s service, err error, model string) (advised error, ok bool) {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status == 0 {
		return err, false
	}
	said := strings.ToLower(e.Code + " " + e.Message)
	for _, row := range cloudErrors {
		if !slices.Contains(strings.Fields(row.providers), s.builtin.ID) || row.status != 0 && row.status != e.Status {
			continue
		}
		if !slices.ContainsFunc(strings.Split(row.words, "|"), func(words string) bool { return strings.Contains(said, words) }) {
			continue
		}
		hinted := withHint(e, fillAdvice(s, row.advice, model))
		hinted.Fault = cmp.Or(row.fault, e.Fault)
		return hinted, true
	}
	return err, false
}

// fillAdvice substitutes the address variables in an advice.
func fillAdvice(s service, advice, model string) string {
	advice = strings.NewReplacer("{provider}", s.name, "{model}", model).Replace(advice)
	advice, _ = s.builtin.Expand(advice, s.address.values)
	return advice
}
