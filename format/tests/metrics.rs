//! Metric metadata of blocks, against a plain list of them.

use chronoxide_format::Rule;
use chronoxide_format::layout::{MAX_METRIC_TEXT_LEN, MetricsHeader, RowForm, SectionKind};
use chronoxide_format::metadata::{MetricMetadata, MetricSet, MetricType, OwnedMetricMetadata};
use chronoxide_format::view::BlockView;
use chronoxide_format::write::{BlockMeta, BuildError, MetricRecords, SectionBytes};
use chronoxide_testkit::editor::BlockEditor;
use chronoxide_testkit::golden::goldens;
use chronoxide_testkit::plan::{Labelset, Plan, build};
use chronoxide_testkit::random::{Random, random_metrics, random_series};
use proptest::prelude::*;

fn block(metrics: MetricSet) -> Result<Vec<u8>, BuildError> {
    let series = [[("__name__".to_owned(), "up".to_owned())].into()].into();
    build(&series, &Plan::default(), RowForm::BitPacked, &BlockMeta { metrics, ..BlockMeta::default() })
}

/// Returns the sort key of rows, as specified.
fn order<'a>(metadata: &MetricMetadata<'a>) -> (&'a [u8], u32, u32, u32, &'a [u8], &'a [u8]) {
    let MetricMetadata { name, metric_type, temporality, monotonicity, unit, description } = *metadata;
    let (unit, description) = (unit.as_bytes(), description.as_bytes());
    (name.as_bytes(), metric_type.code(), temporality.code(), monotonicity.code(), unit, description)
}

fn sections(block: &[u8]) -> Vec<(u32, u64)> {
    BlockView::open(block).unwrap().sections().map(|section| (section.kind, section.length)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_block_has_each_row_once_and_in_order(seed: u64, count in 0_usize..120) {
        let mut random = Random::new(seed);
        let mut given = random_metrics(count, &mut random);
        let bytes = block(given.iter().map(OwnedMetricMetadata::borrowed).collect()).unwrap();
        let view = BlockView::open(&bytes).unwrap();
        view.verify().unwrap();
        let metrics = view.metric_metadata().unwrap();

        let mut expected: Vec<MetricMetadata<'_>> = given.iter().map(OwnedMetricMetadata::borrowed).collect();
        expected.sort_by(|a, b| order(a).cmp(&order(b)));
        expected.dedup();
        let found: Vec<MetricMetadata<'_>> = metrics.iter().map(Result::unwrap).collect();
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!((metrics.len() as usize, metrics.is_empty()), (expected.len(), expected.is_empty()));
        for (row, metadata) in (0..).zip(&expected) {
            prop_assert_eq!(metrics.get(row), Ok(Some(*metadata)));
        }
        for beyond in [metrics.len(), u32::MAX] {
            prop_assert_eq!(metrics.get(beyond), Ok(None));
        }

        // Looks up existing names, and names beside them.
        for MetricMetadata { name, .. } in &expected {
            for wanted in [(*name).to_owned(), format!("{name}\0"), format!("{name}x"), name.chars().skip(1).collect()] {
                let found: Vec<MetricMetadata<'_>> = metrics.find(&wanted).unwrap().map(Result::unwrap).collect();
                let same_name = expected.iter().filter(|metadata| metadata.name == wanted);
                prop_assert_eq!(found, same_name.copied().collect::<Vec<_>>(), "{:?}", wanted);
            }
        }

        random.shuffle(&mut given);
        let again = block(given.iter().map(OwnedMetricMetadata::borrowed).collect()).unwrap();
        prop_assert!(again == bytes, "the order in which rows are given shows");
    }

    #[test]
    fn a_block_is_the_same_but_for_the_section(seed: u64, count in 1_usize..40) {
        let mut random = Random::new(seed);
        let series = random_series(50, &mut random);
        let metrics = random_metrics(count, &mut random);
        let metrics: MetricSet = metrics.iter().map(OwnedMetricMetadata::borrowed).collect();
        let built = |metrics: &MetricSet| {
            let meta = BlockMeta { metrics: metrics.clone(), ..BlockMeta::default() };
            build(&series, &Plan::default(), RowForm::BitPacked, &meta).unwrap()
        };
        let (with, without) = (built(&metrics), built(&MetricSet::new()));
        let [view, plain] = [&with, &without].map(|block| BlockView::open(block).unwrap());
        // Files are named after ids, so that no two blocks have one.
        prop_assert_eq!(view.block_id() == plain.block_id(), metrics.is_empty());
        prop_assert_eq!(view.verify().unwrap().fingerprint, plain.verify().unwrap().fingerprint);
        let kind = SectionKind::MetricMetadata.code();
        prop_assert!(sections(&without).iter().all(|section| section.0 != kind));
        let (rest, metric_sections): (Vec<_>, Vec<_>) = sections(&with).into_iter().partition(|section| section.0 != kind);
        prop_assert_eq!(metric_sections.len(), usize::from(!metrics.is_empty()));
        // All others have the same bytes.
        prop_assert_eq!(rest, sections(&without));
    }
}

#[test]
fn goldens_without_rows_have_no_section() {
    for golden in goldens() {
        let metrics = BlockView::open(&golden.bytes).unwrap().metric_metadata().unwrap();
        let expected = match golden.name {
            "metrics" => 6,
            "metrics-later" => 5,
            _ => 0,
        };
        assert_eq!(metrics.len(), expected, "{}", golden.name);
        let sections = sections(&golden.bytes);
        let has_section = sections.iter().any(|&(kind, _)| kind == SectionKind::MetricMetadata.code());
        assert_eq!(has_section, expected > 0, "{}", golden.name);
    }
}

/// The golden block with other sections of the kind, and what is wrong with it.
fn broken_rule(change: impl FnOnce(&mut BlockEditor)) -> Option<Rule> {
    let golden = goldens().into_iter().find(|golden| golden.name == "metrics").unwrap();
    let mut editor = BlockEditor::open(&golden.bytes);
    change(&mut editor);
    let bytes = editor.close();
    let verified = BlockView::open(&bytes).and_then(|view| view.verify());
    verified.err().map(|error| error.rule())
}

#[test]
fn there_is_one_section_with_rows_or_none() {
    let kind = SectionKind::MetricMetadata.code();
    assert_eq!(broken_rule(|_| ()), None);
    let no_bytes = |editor: &mut BlockEditor| editor.section(SectionKind::MetricMetadata).clear();
    assert_eq!(broken_rule(no_bytes), Some(Rule::MetricHeader));
    let no_rows = |editor: &mut BlockEditor| {
        editor.metrics = MetricRecords::default();
        editor.repack_metrics();
    };
    assert_eq!(broken_rule(no_rows), Some(Rule::MetricHeader));
    let another = |id| move |editor: &mut BlockEditor| editor.sections.last_mut().unwrap().id = id;
    assert_eq!(broken_rule(another(1)), Some(Rule::MetricHeader));
    let two = |editor: &mut BlockEditor| {
        let bytes = editor.section(SectionKind::MetricMetadata).clone();
        editor.sections.push(SectionBytes { kind, id: 1, bytes });
    };
    assert_eq!(broken_rule(two), Some(Rule::MetricHeader));
    // Kinds that are not known may stand before and after it.
    let among_others = |editor: &mut BlockEditor| {
        let place = editor.sections.len() - 1;
        editor.sections.insert(place, SectionBytes { kind: kind - 1, id: 7, bytes: b"before".to_vec() });
        editor.sections.push(SectionBytes { kind: kind + 1, id: 0, bytes: b"after".to_vec() });
    };
    assert_eq!(broken_rule(among_others), None);
}

#[test]
fn each_limit_of_the_rules_is_held_on_both_sides() {
    let rows = |change: fn(&mut MetricRecords)| {
        broken_rule(|editor| {
            change(&mut editor.metrics);
            editor.repack_metrics();
        })
    };
    // The last row is that of `up`, a gauge.
    assert_eq!(rows(|metrics| metrics.rows[5][1] = 8), None, "the last type");
    assert_eq!(rows(|metrics| metrics.rows[5][1] = 9), None, "a later type");
    assert_eq!(rows(|metrics| metrics.rows[5][2] = 2), None, "the last temporality");
    assert_eq!(rows(|metrics| metrics.rows[5][2] = u32::MAX.into()), None, "a later temporality");
    assert_eq!(rows(|metrics| metrics.rows[5][3] = 1), None, "monotonic");
    assert_eq!(rows(|metrics| metrics.rows[5][3] = 2), None, "a later monotonicity");
    for field in [4, 5] {
        let last_text = |metrics: &mut MetricRecords, field: usize| metrics.rows[5][field] = 8;
        let beyond = |metrics: &mut MetricRecords, field: usize| metrics.rows[5][field] = 9;
        let with = |change: fn(&mut MetricRecords, usize)| {
            broken_rule(|editor| {
                change(&mut editor.metrics, field);
                editor.repack_metrics();
            })
        };
        assert_eq!(with(last_text), None, "the last text");
        assert_eq!(with(beyond), Some(Rule::MetricValues));
    }
    assert_eq!(rows(|metrics| metrics.rows[5][0] = 9), Some(Rule::MetricValues));
    assert_eq!(rows(|metrics| metrics.rows[0][0] = 0), Some(Rule::MetricValues), "no name");
    assert_eq!(rows(|metrics| metrics.rows[1] = metrics.rows[2]), Some(Rule::MetricOrder), "a row twice");
    let length = |len: usize| {
        broken_rule(|editor| {
            let metrics = &mut editor.metrics;
            let end = metrics.ends[7][0] + len as u64;
            metrics.text.resize(end as usize, b'z');
            metrics.ends[7][0] = end;
            editor.repack_metrics();
        })
    };
    // The last text is `µm²`.
    assert_eq!(length(65_535 - "µm²".len()), None);
    assert_eq!(length(65_536 - "µm²".len()), Some(Rule::MetricTextEnds));
}

#[test]
fn texts_up_to_the_limit_are_kept_and_longer_ones_refused() {
    let longest = "x".repeat(MAX_METRIC_TEXT_LEN as usize);
    let too_long = "x".repeat(MAX_METRIC_TEXT_LEN as usize + 1);
    let up = MetricMetadata { name: "up", metric_type: MetricType::Gauge, ..MetricMetadata::default() };
    let all = [
        MetricMetadata { name: &longest, ..up },
        MetricMetadata { unit: &longest, ..up },
        MetricMetadata { description: &longest, ..up },
    ];
    let bytes = block(all.into_iter().collect()).unwrap();
    let view = BlockView::open(&bytes).unwrap();
    view.verify().unwrap();
    assert_eq!(view.metric_metadata().unwrap().find(&longest).unwrap().next(), Some(Ok(all[0])));

    let refused = |metadata: MetricMetadata<'_>| block([metadata].into_iter().collect()).unwrap_err();
    let error = |what, len, least| BuildError::MetricText { what, len, least };
    assert_eq!(refused(MetricMetadata { name: "", ..up }), error("name", 0, 1));
    assert_eq!(refused(MetricMetadata { name: &too_long, ..up }), error("name", 65_536, 1));
    assert_eq!(refused(MetricMetadata { unit: &too_long, ..up }), error("unit", 65_536, 0));
    assert_eq!(refused(MetricMetadata { description: &too_long, ..up }), error("description", 65_536, 0));
}

/// Sizes do not depend on the machine: what is exceeded is a change of the format or of the writer.
#[test]
fn the_section_is_little_more_than_its_text() {
    let texts: Vec<[String; 3]> = (0..150_u32)
        .map(|n| {
            let name = format!("demo.service{}.operation{}.duration", n % 12, n);
            let unit = ["s", "By", "1", "{request}"][n as usize % 4].to_owned();
            [name, unit, format!("How long operation {n} of the demo's services takes, as they measure it.")]
        })
        .collect();
    let row = |[name, unit, description]: &'_ [String; 3]| {
        OwnedMetricMetadata::from(MetricMetadata { name, unit, description, ..MetricMetadata::default() })
    };
    let rows: Vec<OwnedMetricMetadata> = texts.iter().map(row).collect();
    let bytes = block(rows.iter().map(OwnedMetricMetadata::borrowed).collect()).unwrap();
    let text_len: usize = texts.iter().map(|[name, _, description]| name.len() + description.len()).sum();
    let text_len = text_len + "sBy1{request}".len();
    let section_len = sections(&bytes).last().unwrap().1 as usize;
    let header_len = size_of::<MetricsHeader>();
    println!("{section_len} bytes for 150 rows with {text_len} bytes of text");
    // In byte order there are two of the units, the descriptions, the names, and two more units: 304 texts, so that
    // units and names need numbers of 9 bits, and descriptions, which end at 152, of 8; 14 bits say where a text ends.
    assert_eq!(section_len, header_len + (150 * 26_usize).div_ceil(8) + (304 * 14_usize).div_ceil(8) + 8 + text_len);
    assert!(section_len < text_len * 11 / 10, "{section_len} bytes");
}

#[test]
fn random_metrics_have_everything_that_metrics_may_have() {
    let (mut repeated, mut several, mut absent, mut shared) = (0, 0, 0, 0);
    for seed in 0..100 {
        let given = random_metrics(40, &mut Random::new(seed));
        let rows: MetricSet = given.iter().map(OwnedMetricMetadata::borrowed).collect();
        let rows: Vec<MetricMetadata<'_>> = rows.iter().collect();
        repeated += given.len() - rows.len();
        several += rows.windows(2).filter(|pair| pair[0].name == pair[1].name).count();
        absent += rows.iter().filter(|row| row.unit.is_empty() || row.description.is_empty()).count();
        shared += rows.iter().filter(|row| !row.unit.is_empty() && row.unit == row.description).count();
    }
    let seen = [repeated, several, absent, shared];
    assert!(seen.iter().all(|&count| count >= 10), "{seen:?}");
}

#[test]
fn a_labelset_named_like_a_metric_shares_nothing_with_it() {
    let labels: Labelset = [("__name__".to_owned(), "only in a label".to_owned())].into();
    let metadata =
        MetricMetadata { name: "only in metadata", unit: "only in metadata too", ..MetricMetadata::default() };
    let meta = BlockMeta { metrics: [metadata].into_iter().collect(), ..BlockMeta::default() };
    let bytes = build(&[labels].into(), &Plan::default(), RowForm::FixedWidth, &meta).unwrap();
    let view = BlockView::open(&bytes).unwrap();
    view.verify().unwrap();
    assert_eq!(view.lookup_symbol(metadata.name.as_bytes()), Ok(None));
    assert_eq!(view.metric_metadata().unwrap().find("only in a label").unwrap().count(), 0);
}
