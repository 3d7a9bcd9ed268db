//! Attributes before they are translated to labels of Prometheus: [`Untranslated`].

use super::windows::Times;

/// Attributes under their names of OpenTelemetry. They are translated when their level is complete: values of keys that
/// get the same name are joined, in order of the keys.
#[derive(Debug, Default)]
pub(super) struct Untranslated {
    pub(super) resource: Vec<(String, String)>,
    pub(super) scope: Vec<(String, String)>,
    pub(super) point: Vec<(String, String)>,
    /// Names of labels of resource and scope that take precedence over attributes of points.
    pub(super) strong: Vec<String>,
    /// True if the resource has a point.
    pub(super) has_points: bool,
    /// Times of the first and the last point of the resource.
    pub(super) times: Option<Times>,
}

impl Untranslated {
    pub(super) fn scope_begins(&mut self) {
        self.scope.clear();
    }

    pub(super) fn point_begins(&mut self) {
        self.point.clear();
    }

    /// Records a point of the resource.
    pub(super) fn add_times(&mut self, times: Option<Times>) {
        self.has_points = true;
        if let Some((first, last)) = times {
            let (least, most) = self.times.unwrap_or((first, last));
            self.times = Some((least.min(first), most.max(last)));
        }
    }
}
