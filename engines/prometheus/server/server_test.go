package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"chronoxide/prometheus"
	"chronoxide/prometheus/internal/synthetic"
)

// start is the first time of the samples, in seconds: 2023-11-14T22:00:00Z.
const start = 1_699_999_200

// serve starts a server of an hour of three counters, which grow by 1, 2 and 3 per second, and of one sample of up.
func serve(t *testing.T) string {
	commands := os.Getenv("CHRONOXIDE_COMMANDS")
	if commands == "" {
		t.Skip("CHRONOXIDE_COMMANDS is not the folder of the built commands: see test.sh")
	}
	data, blocks := t.TempDir(), t.TempDir()
	var series []storage.Series
	for number, job := range []string{"api", "db", "web"} {
		var list []chunks.Sample
		for second := 0; second < 3600; second += 15 {
			list = append(list, synthetic.Sample{
				Time: (start + int64(second)) * 1000, Value: float64(second * (number + 1)),
			})
		}
		series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "requests_total", "job", job), list))
	}
	sample := []chunks.Sample{synthetic.Sample{Time: start * 1000, Value: 1}}
	series = append(series, storage.NewListSeries(labels.FromStrings("__name__", "up", "job", "api"), sample))
	quiet := slog.New(slog.DiscardHandler)
	if _, err := tsdb.CreateBlock(series, data, 0, quiet); err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(filepath.Join(commands, "chronoxide-ingest"), "--quiet", "--chunks", data, "-o", blocks+"/").CombinedOutput()
	if err != nil {
		t.Fatal(err, string(output))
	}
	queryable, warnings, err := prometheus.Open(blocks, data, prometheus.Options{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	t.Cleanup(func() { queryable.Close() })
	service := httptest.NewServer(Handler(queryable, Options{
		Timeout: time.Minute, MaxConcurrency: 2, MaxSamples: 1_000_000, MaxSearchResults: 100, LookbackDelta: 5 * time.Minute, Logger: quiet,
	}))
	t.Cleanup(service.Close)
	return service.URL
}

// get returns the status and the body of an answer.
func get(t *testing.T, address string) (int, []byte) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body
}

// The requests are those that Grafana's data source makes for its health check, its query editor and a panel.
func TestAnswersOfTheAPI(t *testing.T) {
	base := serve(t)
	at := "&time=1700002800&start=1700001600&end=1700002800&step=600"
	for path, expected := range map[string]string{
		"query?query=1%2B1": `{"resultType":"scalar","result":[1700002800,"2"]}`,
		"query?query=" + url.QueryEscape(`sum(rate(requests_total[5m]))`): `{"resultType":"vector","result":[
			{"metric":{},"value":[1700002800,"6"]}]}`,
		"query?query=" + url.QueryEscape(`requests_total{job=~"a.*"} offset 10m`): `{"resultType":"vector","result":[
			{"metric":{"__name__":"requests_total","job":"api"},"value":[1700002800,"3000"]}]}`,
		"query_range?query=" + url.QueryEscape(`max by (job) (requests_total{job!="db"})`): `{"resultType":"matrix","result":[
			{"metric":{"job":"api"},"values":[[1700001600,"2400"],[1700002200,"3000"],[1700002800,"3585"]]},
			{"metric":{"job":"web"},"values":[[1700001600,"7200"],[1700002200,"9000"],[1700002800,"10755"]]}]}`,
		"series?match[]=" + url.QueryEscape(`{job=~"d.*|w.*"}`): `[
			{"__name__":"requests_total","job":"db"},{"__name__":"requests_total","job":"web"}]`,
		"labels?x=":                `["__name__","job"]`,
		"label/job/values?x=":      `["api","db","web"]`,
		"label/job/values?limit=2": `["api","db"]`,
		"metadata?x=":              `{}`,
		"rules?x=":                 `{"groups":[]}`,
		"query_exemplars?query=up": `[]`,
	} {
		status, body := get(t, base+"/api/v1/"+path+at)
		var found struct {
			Status string
			Data   any
		}
		if err := json.Unmarshal(body, &found); err != nil || status != 200 || found.Status != "success" {
			t.Fatal(path, status, string(body), err)
		}
		var wanted any
		if err := json.Unmarshal([]byte(expected), &wanted); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(found.Data, wanted) {
			t.Fatalf("%s: %s", path, body)
		}
	}
}

func TestStatusAndSearch(t *testing.T) {
	base := serve(t)
	_, body := get(t, base+"/api/v1/status/tsdb")
	for _, wanted := range []string{
		`"numSeries":4`, `"numLabelPairs":5`, `"chunkCount":7`, `{"name":"requests_total","value":3}`, `{"name":"job","value":3}`,
	} {
		if !bytes.Contains(body, []byte(wanted)) {
			t.Fatal(wanted, string(body))
		}
	}
	if _, body = get(t, base+"/api/v1/status/buildinfo"); !bytes.Contains(body, []byte(`"version":"3.`)) {
		t.Fatal(string(body))
	}
	status, body := get(t, base+"/api/v1/search/label_values?label=job&search[]=b&start=0&end=1800000000")
	if status != 200 || !bytes.Contains(body, []byte(`"db"`)) || bytes.Contains(body, []byte(`"api"`)) {
		t.Fatal(status, string(body))
	}
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		if status, _ := get(t, base+path); status != 200 {
			t.Fatal(path, status)
		}
	}
}

// Of the jobs, api has a series of up besides.
func TestValuesAreRankedInPages(t *testing.T) {
	base := serve(t)
	ask := func(changes string) (int, string) {
		asked, err := url.ParseQuery("label=job&sort_by=series&start=0&end=1800000000")
		if err != nil {
			t.Fatal(err)
		}
		changed, err := url.ParseQuery(changes)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(asked, changed)
		status, body := get(t, base+searchValues+"?"+asked.Encode())
		return status, string(body)
	}
	const api, db, web = `{"value":"api","series":2}`, `{"value":"db","series":1}`, `{"value":"web","series":1}`
	for changes, expected := range map[string]struct{ results, end string }{
		"":                                   {api + "," + db + "," + web, `"has_more":false`},
		"limit=2":                            {api + "," + db, `"has_more":true,"cursor":"2"`},
		"limit=2&cursor=2":                   {web, `"has_more":false`},
		"cursor=9":                           {"", `"has_more":false`},
		"search[]=zzz&search[]=B":            {"", `"has_more":false`},
		"search[]=zzz&search[]=b&limit=1":    {db, `"has_more":true,"cursor":"1"`},
		"match[]=up":                         {`{"value":"api","series":1}`, `"has_more":false`},
		"start=1700010000":                   {"", `"has_more":false`},
		"start=2023-11-14T22:30:00Z&limit=1": {`{"value":"api","series":1}`, `"has_more":true,"cursor":"1"`},
	} {
		status, body := ask(changes)
		wanted := fmt.Sprintf("{\"results\":[%s]}\n{\"status\":\"success\",%s}\n", expected.results, expected.end)
		if status != 200 || body != wanted {
			t.Errorf("%s: %d: %s", changes, status, body)
		}
	}
	for _, changes := range []string{
		"limit=0", "limit=101", "limit=x", "cursor=-1", "match[]=up&match[]=down", "match[]={", "label=", "start=yesterday",
		"start=9&end=8", "end=NaN", "end=1e300", "sort_dir=asc", "case_sensitive=false",
		strings.Repeat("search[]=a&", 33),
	} {
		if status, body := ask(changes); status != 400 || !strings.Contains(body, `"errorType":"bad_data"`) {
			t.Errorf("%s: %d: %s", changes, status, body)
		}
	}
}

func TestDeepQueriesAreRefused(t *testing.T) {
	base := serve(t)
	for query, expected := range map[string]int{
		strings.Repeat("(", 500) + "1" + strings.Repeat(")", 500):   200,
		strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000): 400,
		strings.Repeat("- ", 5000) + "1":                            400,
		strings.Repeat("1 - ", 2000) + "1":                          200,
	} {
		if status, body := get(t, base+"/api/v1/query?query="+url.QueryEscape(query)); status != expected {
			t.Errorf("%.20s: %d %.200s", query, status, body)
		}
	}
	answer, err := http.PostForm(base+"/api/v1/query", url.Values{"query": {strings.Repeat("1", 1<<20)}})
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 400 {
		t.Error(answer.StatusCode)
	}
}

func TestNothingCanBeChanged(t *testing.T) {
	base := serve(t)
	for _, path := range []string{
		"admin/tsdb/delete_series?match[]=up", "admin/tsdb/snapshot", "admin/tsdb/clean_tombstones", "write", "otlp/v1/metrics",
	} {
		answer, err := http.Post(base+"/api/v1/"+path, "", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode < 400 {
			t.Fatal(path, answer.Status)
		}
	}
	if status, body := get(t, base+"/api/v1/query?query=rate(up)"); status != 400 || !bytes.Contains(body, []byte("bad_data")) {
		t.Fatal(status, string(body))
	}
}

// promtool is what users ask a server with.
func TestPromtool(t *testing.T) {
	promtool := os.Getenv("CHRONOXIDE_PROMTOOL")
	if promtool == "" {
		t.Skip("CHRONOXIDE_PROMTOOL is not the path of promtool: see test.sh")
	}
	base := serve(t)
	for _, one := range []struct {
		arguments []string
		expected  string
	}{
		{[]string{"check", "healthy", "--url", base}, "SUCCESS"},
		{[]string{"query", "instant", "--time", "1700002800", base, `sum(rate(requests_total[5m]))`}, "{} => 6 @[1700002800]"},
		{[]string{"query", "series", "--match", `{job="db"}`, "--start", "1700001600", "--end", "1700002800", base}, `{__name__="requests_total", job="db"}`},
		{[]string{"query", "labels", "--start", "1700001600", "--end", "1700002800", base, "job"}, "api\ndb\nweb"},
		{[]string{"query", "range", "--start", "1700001600", "--end", "1700002800", "--step", "10m", base, `requests_total{job="web"}`}, "9000 @[1700002200]"},
	} {
		output, err := exec.Command(promtool, one.arguments...).CombinedOutput()
		if err != nil || !strings.Contains(string(output), one.expected) {
			t.Fatal(one.arguments, err, string(output))
		}
	}
}
