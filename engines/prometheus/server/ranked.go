package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	api "github.com/prometheus/prometheus/web/api/v1"

	"chronoxide/prometheus"
)

// maxSearchTerms is that of Prometheus: each value is compared with each of them.
const maxSearchTerms = 32

// searchValues is the path of Prometheus's search for values of a label.
const searchValues = "/api/v1/search/label_values"

// ranked answers searches for values of a label with sort_by=series, which Prometheus's API does not have: the values of
// most series come first. The cursor of an answer continues it. All other requests are those of next.
type ranked struct {
	next   http.Handler
	blocks *prometheus.Queryable
	limit  int
	// timeout ends a search.
	timeout time.Duration
	parser  parser.Parser
}

func (r ranked) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	isSearch := request.URL.Path == searchValues && (request.Method == http.MethodGet || request.Method == http.MethodPost)
	if !isSearch || request.FormValue("sort_by") != "series" {
		r.next.ServeHTTP(writer, request)
		return
	}
	page, kind, err := r.answer(request)
	if err != nil {
		status := http.StatusUnprocessableEntity
		if kind == "bad_data" {
			status = http.StatusBadRequest
		}
		refuse(writer, status, kind, err.Error())
		return
	}
	writer.Header().Set("Content-Type", "application/x-ndjson; charset=utf-8")
	write(writer, page)
	write(writer, rankedEnd{"success", page.next != "", page.next})
}

// refuse answers with an error, as Prometheus does.
func refuse(writer http.ResponseWriter, status int, kind, message string) {
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	write(writer, map[string]string{"status": "error", "errorType": kind, "error": message})
}

// write writes a line. The client may be gone.
func write(writer http.ResponseWriter, line any) {
	_ = json.NewEncoder(writer).Encode(line)
}

type rankedPage struct {
	Results  []rankedValue `json:"results"`
	Warnings []string      `json:"warnings,omitempty"`
	// next is the cursor of the next page, and empty at the end.
	next string
}

type rankedValue struct {
	Value  string `json:"value"`
	Series uint64 `json:"series"`
}

type rankedEnd struct {
	Status  string `json:"status"`
	HasMore bool   `json:"has_more"`
	Cursor  string `json:"cursor,omitempty"`
}

// answer returns a page of values, or the kind of an error of Prometheus's API.
func (r ranked) answer(request *http.Request) (page rankedPage, kind string, err error) {
	asked, err := r.parse(request)
	if err != nil {
		return page, "bad_data", err
	}
	ctx, cancel := context.WithTimeout(request.Context(), r.timeout)
	defer cancel()
	// One more tells whether there are more.
	values, warnings, err := r.blocks.RankedLabelValues(
		ctx, asked.mint, asked.maxt, asked.label, asked.keeps, asked.cursor, asked.limit+1, asked.matchers...)
	if err != nil {
		return page, "execution", err
	}
	for _, warning := range warnings.AsErrors() {
		page.Warnings = append(page.Warnings, warning.Error())
	}
	if len(values) > asked.limit {
		values, page.next = values[:asked.limit], strconv.Itoa(asked.cursor+asked.limit)
	}
	page.Results = []rankedValue{}
	for _, value := range values {
		page.Results = append(page.Results, rankedValue(value))
	}
	return page, "", nil
}

// rankedSearch are the parameters of a search. They are named as those of Prometheus's.
type rankedSearch struct {
	label         string
	matchers      []*labels.Matcher
	filters       []storage.Filter
	mint, maxt    int64
	cursor, limit int
}

// keeps returns true for a value with one of the searched texts in it.
func (s rankedSearch) keeps(value string) bool {
	return len(s.filters) == 0 || slices.ContainsFunc(s.filters, func(filter storage.Filter) bool {
		accepted, _ := filter.Accept(value)
		return accepted
	})
}

func (r ranked) parse(request *http.Request) (asked rankedSearch, err error) {
	if asked.label = request.FormValue("label"); asked.label == "" {
		return asked, errors.New("label is missing")
	}
	if selectors := request.Form["match[]"]; len(selectors) > 1 {
		return asked, errors.New("sort_by=series takes one match[]")
	} else if len(selectors) == 1 {
		if asked.matchers, err = r.parser.ParseMetricSelector(selectors[0]); err != nil {
			return asked, err
		}
	}
	for _, name := range []string{"sort_dir", "case_sensitive", "fuzz_threshold", "fuzz_alg", "include_score", "batch_size"} {
		if request.Form.Has(name) {
			return asked, fmt.Errorf("sort_by=series does not take %s", name)
		}
	}
	if len(request.Form["search[]"]) > maxSearchTerms {
		return asked, fmt.Errorf("more than %d search[]", maxSearchTerms)
	}
	for _, text := range request.Form["search[]"] {
		asked.filters = append(asked.filters, api.NewSubstringFilter(text))
	}
	now := time.Now()
	for _, time := range []struct {
		name     string
		to       *int64
		fallback time.Time
	}{{"start", &asked.mint, now.Add(-time.Hour)}, {"end", &asked.maxt, now}} {
		if *time.to, err = milliseconds(request.FormValue(time.name), time.fallback); err != nil {
			return asked, fmt.Errorf("invalid %s: %w", time.name, err)
		}
	}
	if asked.maxt < asked.mint {
		return asked, errors.New("end timestamp must not be before start timestamp")
	}
	asked.limit = min(100, r.limit)
	for _, number := range []struct {
		name            string
		to              *int
		least, greatest int
	}{{"limit", &asked.limit, 1, r.limit}, {"cursor", &asked.cursor, 0, math.MaxInt}} {
		text := request.FormValue(number.name)
		if text == "" {
			continue
		}
		if *number.to, err = strconv.Atoi(text); err != nil || *number.to < number.least || *number.to > number.greatest {
			return asked, fmt.Errorf("invalid %s %q: must be a number from %d to %d",
				number.name, text, number.least, number.greatest)
		}
	}
	return asked, nil
}

// milliseconds returns a time as Prometheus's API takes it: seconds, or as in RFC 3339.
func milliseconds(text string, fallback time.Time) (int64, error) {
	if text == "" {
		return fallback.UnixMilli(), nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if limit := float64(math.MaxInt64 / 1000); !(math.Abs(seconds) < limit) {
			return 0, fmt.Errorf("%q is out of range", text)
		}
		return int64(math.Round(seconds * 1000)), nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, text)
	return parsed.UnixMilli(), err
}
