"""Writes series and selectors that are awkward for evaluators of PromQL matchers: see README.md."""

import json
import random

# Values of the label `a`, each of one series.
AWKWARD = [
    # Beginnings of others, and cases of letters.
    "a", "aa", "aaa", "ab", "abc", "abcd", "b", "ba", "bc", "c", "A", "AB", "aB", "Ab", "ABC", "aBc", "xa", "xab",
    "abab", "ababab", "a-b", "a_b", "a b", "a.b", "a+b", "a,b", "a/b", "a:b", "a=b",
    # Values that look empty.
    " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u200b", "\u0000", '""', "''", "``", "()", "[]", "{}", "null", "0", "-",
    # Quotes, escapes and metacharacters.
    '"', "'", "`", "\\", "\\n", 'a"b', "a'b", "a\\b", ".", "..", ".*", ".+", "a.*", "a|b", "|", "a|", "|a", "(a|b)", "(a",
    "a)", "[a]", "[a", "a]", "a?", "a*", "a+", "^a$", "^a", "a$", "$", "^", "a{2}", "a{b}", "{,3}", "{2,3}", "a{", "}",
    "\\d", "\\Qa\\E", "\\b", "(?i)a", "#", "&&", "--", "~~", "a--z", "%", "<a>", "&amp;",
    # Newlines.
    "a\n", "\na", "a\nb", "a\n\nb", "\n\n", "a\rb", "a\u2028b", "a\u0085b", "line one\nline two\nline three",
    # Unicode: two, three and four bytes, one text in two compositions, letters whose cases are unusual.
    "é", "e\u0301", "É", "éa", "aé", "世", "世界", "界世", "🦀", "🦀🦀", "a🦀", "\U0010ffff", "\uffff", "\ufeff", "ß", "ẞ",
    "SS", "ss", "straße", "STRASSE", "ſ", "s", "S", "\u212a", "k", "K", "ı", "i", "İ", "I", "σ", "ς", "Σ", "ǅ", "ǆ", "Ǆ", "µ", "μ",
    "Ω", "ω", "\u2126", "Å", "å", "\u212b", "дом", "ДОМ", "Дом", "١٢٣", "４２", "ⅷ", "Ⅷ", "ა", "Ა", "ꭰ", "Ꭰ",
    # Numbers and words.
    "1", "2", "10", "100", "1.5", "1e5", "+Inf", "-1", "007", "200", "404", "500", "503", "4xx", "5xx", "v1", "v1.2", "v1.2.3",
    "v12", "foo", "foobar", "barfoo", "foo bar", "bar foo", "foo-bar", "foo_bar", "FOO", "Foo", "fOO", "foofoo", "oof",
    "foo\nbar", "bar", "baz", "bar-baz", "foobarbaz", "quxbar",
    # Long ones.
    "x" * 200, "x" * 201, "x" * 200 + "y", "ab" * 300, "ba" * 300 + "c", "é" * 150, "y" + "x" * 1500,
]

NAMES = ["a", "b", "__name__", "pod", "code", "le", "größe", "k8s.pod.name", "absent"]


def series():
    """Returns distinct labelsets."""
    made = []
    for value in dict.fromkeys(AWKWARD):
        made.append({"__name__": "awkward", "a": value})
    # Labels that only some have, and names that are missing.
    for number, value in enumerate(["a", "b", "ab", "é", "\n", "", ""]):
        labels = {"b": value, "code": str(number)} if value else {"code": f"only-{number}"}
        made.append(labels)
    made += [{"__name__": name} for name in ["up", "u", "up:rate", "up_total", "größe", "a b", "世界", "up\n", "__name__"]]
    made += [{"le": le} for le in ["0.1", "1", "+Inf", "0.10"]]
    made += [{"größe": size, "a": "a"} for size in ["groß", "klein", "GROSS", "1\u00a0m"]]
    # What software exports: values that depend on one another.
    metrics = ["http_requests_total", "http_request_duration_seconds_bucket", "up"]
    for pod in range(24):
        name = ["web-", "web-api-", "db-", "Web-"][pod % 4] + ["1", "10", "100", "11", "2", "x"][pod // 4]
        place = {"pod": name, "k8s.pod.name": name + "-5f7d9", "b": ["a", "b", "ab"][pod % 3]}
        made.append({"__name__": metrics[2], **place})
        for code in ["200", "404", "500"][: 1 + pod % 3]:
            made.append({"__name__": metrics[0], "code": code, **place})
        for le in ["0.1", "1", "+Inf"]:
            labels = {"__name__": metrics[1], "le": le, **place}
            if pod % 5 == 0:
                del labels["b"]
            made.append(labels)
    assert len({json.dumps(labels, sort_keys=True) for labels in made}) == len(made)
    return made


# Regular expressions by case. Each is used with =~ and with !~.
PATTERNS = {
    "empty": ["", "()", "(?:)", "(|)", "|", "||", "^$", "^", "$", "\\A\\z", "a{0}"],
    "anything": [".*", ".+", "(.*)", "(.+)", ".*.*", ".+.*", ".+.+", "^.*$", "^.+$", ".*?", ".+?", "(?s).*", "(?-s).*",
                 "(?-s).+", "(?-s:.*)", ".{0,}", ".{1,}", "[^a]*", "[^a]+", "(.|\\n)*", "(?s:.+)", ".*|", "|.+", ".*|a",
                 "(?i).*", "(?i).+", ".?", "(.*)*", "(.+)?", "\\C*", "[\\s\\S]*", "[^\\n]+"],
    "one character": [".", "..", "...", ".?.", "[^a]", "[^\\n]", "\\n", "(?-s).", "(?-s)..", "\\x00", "\\x{10FFFF}", "\\x{1F980}"],
    "literal": ["a", "abc", "foo bar", "a-b", "absent", "\\.", "a\\.b", "\\.\\*", "a\\|b", "\\(a\\|b\\)", "\\[a\\]", "\\\\", "\\\\n",
                '"', "'", "`", "a\\+b", "\\^a\\$", "世界", "🦀", "é", "\\t", "a\\nb", "#", "a b", "%", "<a>", "&&", "--"],
    "alternation": ["a|b", "(a|b)", "a|b|c|nope", "nope|a", "(?:a|b)c?", "foo|bar", "foo|foobar", "foo(|bar)", "(a|b)(a|b|c)",
                    "é|世|🦀", "a|.*b", ".*b|a", "a.*|b.*", "a.+|.+b", "foo.*|.*bar", "200|5..", "200|404|500", "a|a", "ab|a|abc",
                    "web-(1|2)", "web-1|web-10", "web-(api-)?1", "(web|db)-.*", "abc|abd|xbc", "foo|(bar|baz)", "((a)|(b))"],
    "empty branch": ["a|", "|a", "(a|)", "(|a)", "(a|)(b|)", "a||b", "(a|b|)", "|a|b", "(|foo)bar", "foo(bar|)", "(foo|)(bar|)",
                     "a?", "a*", "(a)?", "(abc)?", "(a|b)*", "(a|b)?", "a??", "(foo.*)?", "(.*foo)?", "|foo.*", ".*foo|", "|.*foo.*", "(foo|.{0})"],
    "ignoring case": ["(?i)a", "(?i)foo", "(?i)FOO", "(?i:a)b", "a(?i:b)", "(?i:a)b(?i:c)", "(?i)foo.*", "(?i).*foo", "(?i).*foo.*",
                      "(?i)foo|bar", "(?i:foo)|bar", "(?i)(foo|bar)", "(?i)straße", "(?i)strasse", "(?i)ß", "(?i)ss", "(?i)s", "(?i)k", "(?i)ſ",
                      "(?i)K", "(?i)i", "(?i)ı", "(?i)İ", "(?i)σ", "(?i)Σ", "(?i)ς", "(?i)ǆ", "(?i)µ", "(?i)ω", "(?i)å", "(?i)дом", "(?i)é", "(?i)[a-c]+",
                      "(?i)[^a]", "(?i)\\x61", "(?i)ab", "(?i)abc?", "(?i)web-.*", "(?i)web-1.*", "(?i-s).*", "(?i)foo(?-i)bar", "foo(?i)bar", "(?i)ა", "(?i)Ꭰ",
                      "(?i)[k]", "(?i)[s-t]+", "(?i)\\w+", "(?i)\\pL", "(?i)\\p{Lu}", "(?i)\\p{Greek}", "(?i)[[:upper:]]+", "(?i)[A-Z]", "(?i)ⅷ",
                      "(?i)foo.+", "(?i)a|b|c", "(?i)a|", "(?i:a|b)c", "(?i)\\QFoo\\E"],
    "anchors inside": ["^a$", "^a", "a$", "(^a$)", "(^a|b$)", "a^b", "a$b", "^^a$$", "\\Aa\\z", "(?m)^a$", "(?m)a$.*", "(?m).*^b", "(?m)a$\\n^b", "a\\n$",
                       "a(\\n|$)", ".*$", "^.*a$", "(^foo|^bar).*", "foo$|^bar", "^(foo|bar)$", "(?m:^)a(?m:$)", "a\\n(?m:^)b", "^*a", "$?a", "(?:^|b)a"],
    "prefix": ["a.*", "a.+", "foo.*", "foo.+", "^foo.*", "foo.*$", "(foo).*", "foo(.*)", "web-.*", "web-1.*", "web-.+", "é.*", "世.*", "🦀.*", "x{200}.*",
               "\\..*", "a\\|.*", "\\n.*", " .*", "foo[^a]*", "foo\\n.*", "foo.?", "foo(?-s).*", "foo(?-s:.+)", "a.?b?", "(a|b).*", "(foo|bar).*", "(a|ab).*",
               "web-[0-9]+", "web-1?.*", "fo{2}.*", "v1(\\.\\d+)*"],
    "suffix": [".*a", ".+a", ".*foo", ".+foo", ".*bar", "(.*)bar", ".*bar$", ".*\\n", ".*é", ".*🦀", "[^a]*b", "(?-s).*b", "(?-s).+bar", ".?a", ".*(foo|bar)",
               ".*a|.*b", ".*_total", ".*-[0-9]", ".*\\.", ".*y", ".*[13]"],
    "contains": [".*a.*", ".+a.+", ".*a.+", ".+a.*", ".*foo.*", ".*foo.+", ".+foo.*", ".+foo.+", ".*\\n.*", ".+\\n.+", ".*\\..*", ".*é.*", ".*世.*", ".*(foo|bar).*",
                 ".*foo.*|.*baz.*", "(?-s).*a.*", "(?-s).*foo.*", "(?-s:.*)foo.*", ".*(?-s:foo.*)", ".*[0-4].*", ".*[0-9]+[a-c].*", ".*\\|.*", ".*\\\\.*", ".*x{100}.*",
                 ".*ab.*ab.*", "^.*oo.*$", ".*\".*", ".*\\x00.*"],
    "dot-star in the middle": ["a.*b", "a.+b", "foo.*bar", "foo.+bar", "foo.*baz", "a.*b.*c", "a(?-s).*b", "a(?-s:.*)b", "foo(?-s:.+)bar", "f.*o", "f.*o.*",
                               "web-.*1", "web.*1.*", "(foo|bar).*(bar|baz)", "foo.*?bar", "a.b", "a.{1,2}b", "a.?b", "y.*x", "x.*y", "^a.*b$", "foo.*|.*bar"],
    "character class": ["[a]", "[ab]", "[a-c]", "[a-c]+", "[^a-c]+", "[^a]", "[]a]", "[]]", "[^]a]+", "[a-]", "[-a]", "[a\\-c]", "[a\\]]", "[\\^a]", "[a^]", "[[]", "[[a]",
                        "[[:alpha:]]+", "[[:^alpha:]]+", "[[:digit:]]+", "[[:space:]]+", "[[:punct:]]", "[[:word:]]+", "[^[:alpha:]]+", "[[:alpha:][:digit:]]+",
                        "[é世]", "[α-ω]", "[à-ÿ]", "[\\x00-\\x7f]+", "[^\\x00-\\x7f]+", "[\\n]", "[^\\n]*", "[a&&b]", "[&&]+", "[--]+", "[~~]+", "[a--z]+", "[.]", "[.*]+",
                        "[\\.]", "[$]", "[|]", "[a|b]", "[a|b]+", "[ ]+", "[\\d]+", "[\\D]+", "[^\\d]+", "[\\w-]+", "[\\s]+", "[\\W]+", "[\\pL]+", "[^\\pL]+", "[\\PL]+",
                        "[1-9][0-9]*", "[0-9]{3}", "[45]..", "[45]\\d\\d", "[a-zA-Z_][a-zA-Z0-9_]*", "[^\\x{10ffff}]", "[\\a-\\f]", "[[:ascii:]]+", "[[:cntrl:]]+",
                        "[[:graph:]]+", "[[:print:]]+", "[[:blank:]]+", "[[:xdigit:]]+", "[{}]+", "[()]+", "[\\\\]", "[\\[]", "[#]", "[<>a]+"],
    "repetition": ["a{2}", "a{2,}", "a{1,2}", "a{0,1}", "(ab){2}", "(ab)+", "(ab)*", "(ab){2,3}", "a+", "a+?", "a*?", "a{2}?", "(a|b){2}", ".{2}", ".{3,}", ".{0,2}", "x{200}", "x{200,}",
                   "x{201}", "(xx)+", "(x{10}){20}", "a{b}", "{,3}", "{2,3}", "a{", "a\\{2\\}", "a{,2}", "}", "\\{\\}", "{}", "(a*)*", "(a+)+b?", "(a?){3}", "((ab)+|c)", "[ab]{2,4}",
                   "é{150}", "(é|a){1,2}", "\\d{3}", "(foo){2}", "a{1}", "a{0,}", "(ab){300}", "a{1000}", "(?:a{1,2}){2}", "a{01}", "a{2 }", "a{ 2}"],
    "verbatim": ["\\Qa.b\\E", "\\Qa|b\\E", "\\Q(a|b)\\E", "\\Q.*\\E", "\\Qa\\E.*", ".*\\Q.\\E.*", "\\Q.", "\\Q\\E", "\\Qa", "\\Q\\d\\E", "\\Q[a]\\E|b", "\\Qa\\E*", "\\Qa\\E{2}", "(\\Q(a\\E)", "\\Q\\\\E",
                 "\\Q\\Qa\\E\\\\E", "\\Qa\\b\\E", "\\Qé世\\E", "\\Q{}\\E", "a\\E", "\\E", "\\Qab\\E+"],
    "Perl class": ["\\d", "\\d+", "\\D+", "\\D", "\\w+", "\\w", "\\W", "\\W+", "\\s", "\\s+", "\\S+", "\\S", "\\d+\\.\\d+", "v\\d.*", ".*\\d", ".*\\d.*", "\\w+-\\w+", "\\w+\\s\\w+", "\\S*", "\\D*", "web-\\d+",
                   ".*\\s.*", ".*\\W.*", "[\\s\\d]+", "\\d*", "\\v", "\\f"],
    "word boundary": ["\\ba\\b", "\\bfoo\\b.*", ".*\\bfoo\\b.*", ".*\\bbar", ".*\\Bbar.*", "foo\\b", "foo\\b.*", "foo\\B.*", "\\b.*", ".*\\b", "\\B.*", "\\bé\\b", "\\Bé\\B", "\\b", "\\B", ".*\\b-\\b.*", "a\\bé", "\\<a", "\\<a\\>"],
    "Unicode class": ["\\pL", "\\pL+", "\\PL", "\\PL+", "\\p{L}+", "\\p{Lu}", "\\p{Lu}+", "\\p{Ll}+", "\\p{Greek}", "\\p{^Greek}", "\\P{Greek}", "\\P{^Greek}", "\\p{Cyrillic}+", "\\p{Han}+", "\\pN+", "\\p{Nd}+", "\\pZ", "\\pS",
                      "\\pM", ".*\\pM", "\\pC", "\\p{Lt}", "\\p{Any}", "\\p{Latin}+", "\\p{Nl}", "\\p{Zs}+", "\\p{So}+", "\\p{Cherokee}", "\\p{Georgian}", "\\pP+", "[\\pL\\pN]+", "[^\\p{Greek}]", "\\p{Cf}", "\\p{Cc}+", "\\p{Co}", "\\p{Cn}",
                      "\\p{Letter}", "\\p{greek}", "\\p{Script=Greek}", "\\p{Alphabetic}", "\\p{L&}", "\\p{LC}", "\\p{IsGreek}", "\\p{Lo}", "\\p{Common}", "\\p{Emoji}", "\\p{ASCII}", "\\p{Lowercase}"],
    "escape": ["\\x61", "\\x{61}", "\\x{e9}", "\\xe9", "\\101", "\\141", "\\0", "\\060", "\\a", "\\n", "\\r\\n", "\\-", "\\/", "\\:", "\\_", "\\ ", "\\@", "\\é", "\\世", "\\8", "\\1", "\\12", "\\e", "\\c", "\\u0061", "\\Z", "\\G", "\\K", "\\N", "\\R",
               "\\h", "\\X", "\\x", "\\x6", "\\x{}", "\\x{110000}", "\\x{D800}", "\\~", "\\#", "\\&", "\\%", "\\\"", "\\'", "\\`", "\\<", "\\>", "\\!", "\\="],
    "groups and flags": ["(a)", "((a))", "(?:a)", "(?P<n>a)", "(?<n>a)", "(?P<n>a)(?P<n>b)", "(?i)(?-i)a", "(?U)a+", "(?U)a.*b", "(?U:a*)", "(?s).", "(?-s).", "(?m).*", "(?ims)A", "(?i-s:A.)", "(?)a", "(?-)a", "(?i)", "(?:)", "(?i:)", "(?x)a b",
                         "(?u)a", "(?R)a", "(?i", "(?i:a", "(?=a)", "(?!a)", "(?<=a)", "(?>a)", "(?#a)a", "(?P=n)", "(?P>n)", "(?--i)a", "(?i-)a", "(?a)", "(?P<>a)", "(?P<1>a)", "(?P<é>a)", "(?i)*", "a(?i)*", "a(?)*", "a*(?i)*", "a(?i)(?s)+?b", "((?)?:a)", "((?i)?:a)", "a|(?i)*", "(?i){2}", "(?ii)a", "(?i-i)a", "(?is-is:A.)", "(?s-s)."],
    "refused": ["(", ")", "a)", "(a", "[", "[a", "[]", "[^]", "*", "+", "?", "a**", "a+*", "a{2}{3}", "a{2}*", "a??*", "*a", "|*", "(*)", "\\", "a\\", "[z-a]", "[a-\\d]", "[\\d-z]", "[a-[:alpha:]]", "[[:foo:]]", "[[:alpha:]-z]", "a{1001}", "a{2,1}", "a{1001,}",
                "(a{1000}){1000}", "(a{100}){11}", "\\p{Foo}", "\\pA", "\\p", "\\p{L", "a{99999999999}", "x*{2}", "^*", "$*", "\\b*", "\\b+", "(?i)+", "a|*", "(?:a{500}){3}", "[[.a.]]", "[[=a=]]", "\\Qa\\E**", "a*{,2}", "x{2}{,3}", "a{2}?{2}"],
}


def selectors(all_series):
    """Yields (case, matchers) in order."""
    for name in ["a", "b", "__name__", "absent", "größe", "k8s.pod.name"]:
        kind = "absent label" if name == "absent" else "empty matcher"
        for op in ["=", "!=", "=~", "!~"]:
            yield f"{kind}: {name}{op}''", [(name, op, "")]
            for value in [".*", ".+", "a", "a|", "up"]:
                yield f"{kind}: {name}{op}'{value}'", [(name, op, value)]
    for value in dict.fromkeys(AWKWARD):
        yield f"equal: {short(value)}", [("a", "=", value)]
    for value in ["a", "\n", "é", " ", "a|b", "x" * 200, "nope", ".*"]:
        yield f"not equal: {short(value)}", [("a", "!=", value)]
    for kind, patterns in PATTERNS.items():
        for pattern in dict.fromkeys(patterns):
            for op in ["=~", "!~"]:
                names = ["pod"] if "web" in pattern else ["a"]
                for name in names:
                    yield f"{kind}: {name}{op}{pattern}", [(name, op, pattern)]
    for pattern in ["a|", "(a|)", "|foo.*", ".*", ".+", "", "(?i)a|", "b?", "[^b]*", "x*"]:
        for op in ["=~", "!~"]:
            yield f"label of some series: b{op}{pattern}", [("b", op, pattern)]
    together = {
        "several of one label": [
            [("a", "=~", "a.*"), ("a", "!=", "a")], [("a", "=", "a"), ("a", "=", "b")], [("a", "=", "a"), ("a", "=", "a")],
            [("a", "!=", "a"), ("a", "!=", "b")], [("a", "!=", ""), ("a", "=~", ".*")], [("a", "=", ""), ("a", "!=", "")],
            [("a", "=~", "a|"), ("a", "!=", "")], [("a", "=~", ".*a.*"), ("a", "!~", ".*b.*")], [("a", "=~", ""), ("a", "!~", "a")],
            [("b", "=~", "a|"), ("b", "!=", "a")], [("b", "!=", "a"), ("b", "!~", "b|")], [("__name__", "=~", "up|http.*"), ("__name__", "!~", ".*bucket")],
            [("a", "!~", "a.*"), ("a", "!~", ".*a"), ("a", "!=", "")], [("le", "!=", "+Inf"), ("le", "!=", "")],
        ],
        "several labels": [
            [("__name__", "=", "up"), ("pod", "=", "web-1")], [("__name__", "=", "up"), ("b", "!=", "a")], [("__name__", "=", "up"), ("b", "=", "")],
            [("__name__", "=~", "http.*"), ("b", "=", "")], [("b", "=", "a"), ("code", "=", "")], [("b", "=", "a"), ("code", "!=", "")],
            [("__name__", "=", ""), ("b", "!=", "")], [("__name__", "=", ""), ("a", "!~", ".+")], [("pod", "=~", "web-.*"), ("code", "=~", "4..|5..")],
            [("pod", "!=", ""), ("le", "=", "")], [("le", "=~", "0\\.1|"), ("pod", "=~", "db-.*")], [("absent", "=", ""), ("pod", "=", "web-1")],
            [("absent", "!=", ""), ("pod", "=", "web-1")], [("absent", "!=", "x"), ("a", "=", "a")], [("a", "=", ""), ("b", "=", ""), ("pod", "=", "")],
            [("a", "=~", ".+"), ("b", "=~", ".+")], [("größe", "=~", "(?i)gro.*"), ("a", "=", "a")], [("k8s.pod.name", "=~", "web.*"), ("pod", "!~", "web-api.*")],
        ],
    }
    for kind, lists in together.items():
        for number, matchers in enumerate(lists):
            yield f"{kind}: {number}", matchers
    draw = random.Random(20_261_123)
    for number in range(400):
        yield f"random: {number}", [random_matcher(draw, all_series) for _ in range(1 + int(draw.random() * 3))]


def short(value):
    """Returns a value for the name of a case."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 40 else f"{text[:10]}...{text[-10:]} of {len(value)}"


def pick(draw, items):
    """Returns an item; `random.choice` draws differently in different versions of Python."""
    return items[int(draw.random() * len(items))]


def random_matcher(draw, all_series):
    op = pick(draw, ["=", "!=", "=~", "!~", "=~", "!~", "=~"])
    labels = pick(draw, all_series)
    name = pick(draw, NAMES if draw.random() < 0.3 else sorted(labels))
    value = labels.get(name) or pick(draw, AWKWARD)
    if op in ("=", "!="):
        return name, op, value
    if len(value) < 50 and draw.random() < 0.4:
        # Part of a value with something around it.
        start, end = sorted([int(draw.random() * (len(value) + 1)), int(draw.random() * (len(value) + 1))])
        inner = "".join("\\" + char if char in r"\.+*?()|[]{}^$" else char for char in value[start:end])
        edge = ["", ".*", ".+", "(?-s:.*)", ".?", "(?i)", "[^a]*", "(a|b)?"]
        return name, op, pick(draw, edge) + inner + pick(draw, edge[:5])
    return name, op, random_pattern(draw, 3)


def random_pattern(draw, depth):
    atoms = ["a", "b", "c", "ab", "foo", "bar", "é", "世", ".", ".*", ".+", "[a-c]", "[^a]", "\\d", "\\w", "\\s", "\\n", "-", "\\.", "x", "^", "$", "\\b", "\\pL", "S", "k", "1", "web-", ""]
    if depth == 0 or draw.random() < 0.3:
        return pick(draw, atoms)
    kind = int(draw.random() * 6)
    inner = random_pattern(draw, depth - 1)
    if kind == 0:
        return f"({inner}|{random_pattern(draw, depth - 1)})"
    if kind == 1:
        return f"({inner}){pick(draw, ['*', '+', '?', '{2}', '{0,2}', '*?', '{1,}'])}"
    if kind == 2:
        return f"{inner}|{random_pattern(draw, depth - 1)}"
    if kind == 3:
        return f"(?i:{inner}){random_pattern(draw, depth - 1)}"
    return inner + random_pattern(draw, depth - 1)


def write(path, lines):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), file=file)


def main():
    all_series = series()
    write("series.jsonl", all_series)
    lines = []
    for case, matchers in selectors(all_series):
        matchers = [{"name": name, "op": op, "value": value} for name, op, value in matchers]
        lines.append({"case": case, "matchers": matchers})
    assert len({line["case"] for line in lines}) == len(lines), "a case occurs twice"
    write("selectors.jsonl", lines)


main()
