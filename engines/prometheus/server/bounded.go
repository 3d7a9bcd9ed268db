package server

import (
	"net/http"
	"strings"
)

// maxNesting is the number of parentheses, and of signs without anything between them, in a query: parsing deeper ones
// takes gigabytes.
const maxNesting = 1000

// bounded answers as many requests at once as slots has places, and no queries of great depth.
type bounded struct {
	next  http.Handler
	slots chan struct{}
}

func (b bounded) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	if !strings.HasPrefix(request.URL.Path, "/api/") {
		b.next.ServeHTTP(writer, request)
		return
	}
	select {
	case b.slots <- struct{}{}:
		defer func() { <-b.slots }()
	case <-request.Context().Done():
		return
	}
	if isDeep(request.FormValue("query")) {
		refuse(writer, http.StatusBadRequest, "bad_data", "the query is nested too deeply")
		return
	}
	b.next.ServeHTTP(writer, request)
}

// isDeep returns true if a query can be nested more deeply than maxNesting.
func isDeep(query string) bool {
	signs := 0
	for _, char := range query {
		switch char {
		case '+', '-':
			if signs++; signs > maxNesting {
				return true
			}
		case ' ', '\t', '\n', '\r', '(':
		default:
			signs = 0
		}
	}
	return strings.Count(query, "(") > maxNesting
}
