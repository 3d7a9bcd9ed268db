//! Conditions give the rows that they give in memory, pushed to the block or not.

use chronoxide_format::SeriesRef;
use chronoxide_format::column::Value;
use chronoxide_format::layout::RowForm;
use chronoxide_format::view::BlockView;
use chronoxide_format::write::BlockMeta;
use chronoxide_testkit::fuzzing::sound::series_in_order;
use chronoxide_testkit::golden::{Golden, goldens};
use chronoxide_testkit::plan::build;
use chronoxide_testkit::random::{Random, random_plan, random_series};
use chronoxide_testkit::sweep;
use datafusion::prelude::SessionContext;

use crate::rows::{agree, plan, session_of_block};

/// Conditions on one column, which are answered by the block. `l` stands for a label, `v` and `w` for values.
const PUSHED: [&str; 46] = [
    "NULL = l",
    "l = l OR l IS NULL",
    "l = 'v'",
    "'v' = l",
    "l <> 'v'",
    "l = ''",
    "l <> ''",
    "l > 'v'",
    "l >= 'v' AND l < 'w'",
    "l BETWEEN 'v' AND 'w'",
    "l NOT BETWEEN 'v' AND 'w'",
    "l IN ('v', 'w', 'neither')",
    "l IN ('v', '')",
    "l NOT IN ('v', 'w')",
    "l NOT IN ('v', '')",
    "l IN ('v', NULL)",
    "l NOT IN ('v', NULL)",
    "l IS NULL",
    "l IS NOT NULL",
    "l LIKE '%'",
    "l LIKE 'v%'",
    "l LIKE ''",
    "l LIKE '%v'",
    "l LIKE '%-_'",
    "l LIKE 'po_-%'",
    "l NOT LIKE 'v%'",
    "l LIKE 'p\\%%'",
    "l ILIKE 'V%'",
    "l NOT ILIKE '%V%'",
    "l ~ 'v'",
    "l ~ '^(v|w)$'",
    "l ~* 'V'",
    "l !~ 'v'",
    "l !~* '[0-4]'",
    "l ~ '\\d'",
    "l ~ '^$'",
    "l SIMILAR TO '(v|w)'",
    "l IS DISTINCT FROM 'v'",
    "l IS NOT DISTINCT FROM 'v'",
    "l IS NOT DISTINCT FROM NULL",
    "l = 'v' OR l = 'w'",
    "l = 'v' OR l IS NULL",
    "NOT (l = 'v' OR l LIKE 'w%')",
    "(l = 'v') IS NOT TRUE",
    "(l > 'v') IS UNKNOWN",
    "l || 'x' = 'vx'",
];

/// Conditions that DataFusion evaluates.
const OTHERS: [&str; 8] = [
    "l = m",
    "l = 'v' OR m = 'w'",
    "nullif(l, 'v') IS NULL",
    "greatest(l, 'v') = 'v'",
    "coalesce(l, m) = 'v'",
    "l IS NULL AND m IS NOT NULL AND coalesce(m, 'x') > 'v'",
    "series_ref % 3 = 1",
    "l = 'v' AND greatest(m, 'w') = m",
];

/// Conditions on refs.
const REFS: [&str; 10] = [
    "series_ref = 3",
    "series_ref <> 3",
    "series_ref < 4",
    "2 <= series_ref",
    "series_ref > 1000000000000",
    "series_ref >= 4294967295",
    "series_ref BETWEEN 2 AND 5",
    "series_ref NOT BETWEEN 2 AND 5",
    "series_ref IN (0, 2, 4, 99999999999)",
    "series_ref NOT IN (0, 2)",
];

/// Fills in labels and values.
fn fill(condition: &str, labels: [&str; 2], values: [&str; 2]) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let mut filled = String::new();
    let mut in_text = false;
    let bytes = condition.as_bytes();
    for (place, character) in condition.char_indices() {
        let is_word = |place: usize| bytes.get(place).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let is_alone = !is_word(place + 1) && (place == 0 || !is_word(place - 1));
        match character {
            '\'' => in_text = !in_text,
            'l' if !in_text && is_alone => {
                filled += &quoted(labels[0]);
                continue;
            }
            'm' if !in_text && is_alone => {
                filled += &quoted(labels[1]);
                continue;
            }
            'v' | 'w' if in_text => {
                filled += &values[usize::from(character == 'w')].replace('\'', "''");
                continue;
            }
            _ => {}
        }
        filled.push(character);
    }
    filled
}

#[test]
fn words_are_not_placeholders() {
    let filled = fill("l LIKE 'v%' AND m = 'w'", ["a", "b"], ["x", "it's"]);
    assert_eq!(filled, r#""a" LIKE 'x%' AND "b" = 'it''s'"#);
}

/// Compares conditions on random labels and values of a block.
async fn check(context: &SessionContext, series: &[chronoxide_testkit::plan::Labelset], random: &mut Random) -> usize {
    let pick = |random: &mut Random| {
        let labels = &series[random.below(series.len())];
        let place = random.below(labels.len());
        labels.iter().nth(place).map(|(name, value)| (name.clone(), value.clone())).expect("in range")
    };
    let mut some = 0;
    for condition in PUSHED.iter().chain(&OTHERS).chain(&REFS) {
        let ((label, value), (other, second)) = (pick(random), pick(random));
        let condition = fill(condition, [&label, &other], [&value, &second]);
        let found = agree(context, &format!("SELECT * FROM {{}} WHERE {condition}")).await;
        some += usize::from(!found.is_empty());
        let counted = agree(context, &format!("SELECT count(*) FROM {{}} WHERE {condition}")).await;
        assert_eq!(counted, [[found.len().to_string()]], "{condition}");
    }
    some
}

#[tokio::test]
async fn conditions_agree_on_goldens() {
    let mut random = Random::new(7);
    let mut some = 0;
    // The model has no series columns. Others have the same labels in other layouts.
    let has_columns = |golden: &Golden| golden.name.starts_with("chunks") || golden.name.starts_with("columns");
    for golden in goldens().into_iter().filter(|golden| !has_columns(golden)).step_by(3) {
        let block = chronoxide_reader::Block::from_vec(golden.bytes.clone(), chronoxide_reader::Checks::Lazy);
        let series = series_in_order(&block.expect("sound").view());
        // Texts of PostgreSQL's regular expressions would need escapes.
        let is_plain = |labels: &chronoxide_testkit::plan::Labelset| {
            labels.iter().all(|(name, value)| {
                (name.clone() + value).bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte))
            })
        };
        if series.is_empty() || series.len() > 100 || !series.iter().all(is_plain) {
            continue;
        }
        some += check(&session_of_block(&golden.bytes), &series, &mut random).await;
    }
    assert!(some > 100, "{some} conditions had rows");
}

#[tokio::test]
async fn conditions_agree_on_random_blocks() {
    let mut some = 0;
    for seed in 0..sweep::cases(4, 12) {
        let mut random = Random::new(seed);
        let series = random_series(20 + random.below(100), &mut random);
        let block = build(&series, &random_plan(&series, &mut random), RowForm::BitPacked, &BlockMeta::default());
        let context = session_of_block(&block.expect("the plan is valid"));
        for _ in 0..sweep::cases(12, 30) {
            let labels: Vec<_> = series.iter().collect();
            let (name, value) = labels[random.below(labels.len())].iter().next().expect("a label");
            for condition in ["l = 'v'", "l <> 'v'", "l IS NULL", "l LIKE 'v%'", "l IN ('v')", "l > 'v'", "NOT l = 'v'"]
            {
                if value.contains(['%', '\\', '_']) && condition.contains("LIKE") {
                    continue;
                }
                let condition = fill(condition, [name, name], [value, value]);
                some += agree(&context, &format!("SELECT series_ref FROM {{}} WHERE {condition}")).await.len();
                let group = labels[random.below(labels.len())].keys().next_back().expect("a label");
                let groups = fill("SELECT l, count(*) FROM {} WHERE ", [group, group], ["", ""]) + &condition;
                agree(&context, &(groups + " GROUP BY 1")).await;
            }
        }
    }
    assert!(some > sweep::cases(100, 1000), "{some} rows");
}

#[tokio::test]
async fn conditions_on_one_column_are_pushed_and_others_are_not() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let context = session_of_block(&golden.bytes);
    for (conditions, is_pushed) in [(&PUSHED[..], true), (&REFS[..], true), (&OTHERS[..5], false)] {
        for condition in conditions {
            let condition = fill(condition, ["job", "pod"], ["api", "db"]);
            let plan = plan(&context, &format!("SELECT * FROM series WHERE {condition}")).await;
            assert_eq!(!plan.contains("FilterExec"), is_pushed, "{condition}\n{plan}");
        }
    }
}

/// The table of PromQL and SQL in the documentation of the crate.
#[tokio::test]
async fn selectors_have_their_counterparts() {
    let golden = goldens().into_iter().find(|golden| golden.name == "plain-bitpacked").expect("it is there");
    let context = session_of_block(&golden.bytes);
    let block = chronoxide_reader::Block::from_vec(golden.bytes, chronoxide_reader::Checks::Lazy).expect("sound");
    let table = chronoxide_arrow::BlockTable::new(block).expect("sound");
    let mut counts = Vec::new();
    for (selector, condition) in [
        (r#"{pod="api-1"}"#, "pod = 'api-1'"),
        (r#"{pod!="api-1"}"#, "pod IS DISTINCT FROM 'api-1'"),
        (r#"{pod=""}"#, "pod IS NULL"),
        (r#"{pod!=""}"#, "pod IS NOT NULL"),
        (r#"{pod=~"a.*"}"#, "pod LIKE 'a%'"),
        (r#"{pod=~"a.*"}"#, "pod ~ '^a'"),
        (r#"{pod!~"a.*"}"#, "pod NOT LIKE 'a%' OR pod IS NULL"),
    ] {
        let parsed = chronoxide_select::Selector::parse_any(selector).expect("a selector");
        let expected: Vec<Vec<String>> =
            table.select(parsed.matchers()).expect("sound").iter().map(|series| vec![series.to_string()]).collect();
        let found = agree(&context, &format!("SELECT series_ref FROM {{}} WHERE {condition}")).await;
        assert_eq!(found, expected, "{selector} and {condition}");
        counts.push(found.len());
    }
    assert_eq!(counts, [2, 8, 6, 4, 3, 3, 7]);
    assert_eq!(agree(&context, "SELECT series_ref FROM {} WHERE pod <> 'api-1'").await.len(), 2, "null is not unequal");
}

/// Minutes at which the series of the golden `columns` were first and last seen, by ref; as the test kit gave them.
const MINUTES: [(i64, i64); 10] =
    [(0, 120), (0, 120), (0, 3), (90, 120), (0, 120), (0, 120), (0, 120), (119, 120), (0, 90), (0, 120)];

#[tokio::test]
async fn conditions_on_times_are_pushed_and_exact() {
    let golden = goldens().into_iter().find(|golden| golden.name == "columns").expect("it is there");
    let context = session_of_block(&golden.bytes);
    let time = |minute: i64| {
        let seconds = 1_700_000_040 + minute * 60;
        let (hour, minute) = ((seconds / 3_600) % 24, (seconds / 60) % 60);
        format!("'2023-11-{}T{hour:02}:{minute:02}:00Z'", if seconds < 1_700_006_400 { 14 } else { 15 })
    };
    let refs = |filter: &dyn Fn(i64, i64) -> bool| -> Vec<Vec<String>> {
        let kept = (0..).zip(MINUTES).filter(|(_, (first, last))| filter(*first, *last));
        kept.map(|(number, _): (u32, _)| vec![number.to_string()]).collect()
    };
    for from in [-10, 0, 3, 4, 90, 91, 119, 120, 121] {
        for to in [0, 1, 90, 91, 200] {
            let (from_text, to_text) = (time(from), time(to));
            for (condition, expected) in [
                (
                    format!("first_time < {to_text} AND last_time >= {from_text}"),
                    refs(&|first, last| first < to && last >= from),
                ),
                (format!("first_time = {from_text}"), refs(&|first, _| first == from)),
                (format!("first_time <> {from_text}"), refs(&|first, _| first != from)),
                (format!("last_time BETWEEN {from_text} AND {to_text}"), refs(&|_, last| (from..=to).contains(&last))),
                (
                    format!("{from_text} < last_time OR last_time = {to_text}"),
                    refs(&|_, last| from < last || last == to),
                ),
                (format!("first_time IN ({from_text}, {to_text})"), refs(&|first, _| first == from || first == to)),
            ] {
                let query = format!("SELECT series_ref FROM series WHERE {condition}");
                assert_eq!(crate::rows::rows(&context, &query).await, Ok(expected.clone()), "{condition}");
                let limited = format!("{query} ORDER BY series_ref LIMIT 1");
                let first = expected.iter().take(1).cloned().collect();
                assert_eq!(crate::rows::rows(&context, &limited).await, Ok::<Vec<_>, String>(first), "{condition}");
                let plan = crate::rows::plan(&context, &query).await;
                assert!(!plan.contains("FilterExec"), "{condition}: {plan}");
            }
        }
    }
    let found = crate::rows::rows(&context, "SELECT first_time, last_time FROM series WHERE series_ref = 2").await;
    assert_eq!(found, Ok(vec![vec!["2023-11-14T22:14:00Z".to_owned(), "2023-11-14T22:17:00Z".to_owned()]]));
    // A function of a time is left to DataFusion.
    let counted =
        crate::rows::rows(&context, "SELECT count(*) FROM series WHERE date_part('hour', last_time) = 0").await;
    assert_eq!(counted, Ok(vec![vec![MINUTES.iter().filter(|(_, last)| *last >= 106).count().to_string()]]));
}

#[tokio::test]
async fn series_columns_are_columns_and_conditions_on_their_numbers_are_pushed() {
    let golden = goldens().into_iter().find(|golden| golden.name == "columns").expect("it is there");
    let context = session_of_block(&golden.bytes);
    let view = BlockView::open(&golden.bytes).expect("sound");
    for (name, constants) in
        [("hash", ["0", "17", "18446744073709551615"]), ("total", ["-1", "0", "9223372036854775807"])]
    {
        let column = view.series_column(name).expect("sound").expect("it is there");
        let values: Vec<Option<i128>> = (0..10)
            .map(|series| match column.get(SeriesRef(series)).expect("sound")? {
                Value::I64(number) => Some(number.into()),
                Value::U64(number) => Some(number.into()),
                Value::Bytes(_) => None,
            })
            .collect();
        let text = |value: &Option<i128>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let mut all: Vec<Vec<String>> = values.iter().map(|value| vec![text(value)]).collect();
        all.sort();
        assert_eq!(crate::rows::rows(&context, &format!("SELECT {name} FROM series")).await, Ok(all));
        for constant in constants {
            let number: i128 = constant.parse().expect("a number");
            for (operator, accepts) in
                [("<", i128::lt as fn(&i128, &i128) -> bool), (">=", i128::ge), ("=", i128::eq), ("<>", i128::ne)]
            {
                let query = format!("SELECT series_ref FROM series WHERE {name} {operator} {constant}");
                let kept = (0..).zip(&values).filter(|(_, value)| value.is_some_and(|value| accepts(&value, &number)));
                let expected: Vec<Vec<String>> = kept.map(|(series, _): (u32, _)| vec![series.to_string()]).collect();
                assert_eq!(crate::rows::rows(&context, &query).await, Ok(expected), "{query}");
                let plan = crate::rows::plan(&context, &query).await;
                assert!(!plan.contains("FilterExec"), "{query}: {plan}");
            }
        }
    }
    // Texts are bytes, which DataFusion compares.
    let column = view.series_column("app.chunks").expect("sound").expect("it is there");
    let some = column.get(SeriesRef(0)).expect("sound");
    let Some(Value::Bytes(bytes)) = some else { panic!("{some:?}") };
    let same = (0..10).filter(|&series| column.get(SeriesRef(series)).expect("sound") == some).count();
    let literal: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let query = format!("SELECT count(*) FROM series WHERE \"app.chunks\" = X'{literal}'");
    assert_eq!(crate::rows::rows(&context, &query).await, Ok(vec![vec![same.to_string()]]));
}
