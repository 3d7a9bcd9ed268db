package prometheus

import (
	"github.com/prometheus/prometheus/model/labels"

	"chronoxide"
)

// converted returns matchers as Chronoxide has them: the numbers of the types are the same.
func converted(matchers []*labels.Matcher) []chronoxide.Matcher {
	list := make([]chronoxide.Matcher, len(matchers))
	for i, matcher := range matchers {
		list[i] = chronoxide.Matcher{Type: chronoxide.MatchType(matcher.Type), Name: matcher.Name, Value: matcher.Value}
	}
	return list
}

// These do not compile if the numbers differ.
var (
	_ [chronoxide.MatchEqual]byte     = [labels.MatchEqual]byte{}
	_ [chronoxide.MatchNotEqual]byte  = [labels.MatchNotEqual]byte{}
	_ [chronoxide.MatchRegexp]byte    = [labels.MatchRegexp]byte{}
	_ [chronoxide.MatchNotRegexp]byte = [labels.MatchNotRegexp]byte{}
)
