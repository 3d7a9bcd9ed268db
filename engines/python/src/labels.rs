//! Arguments that are labels, selectors or paths.

use std::path::PathBuf;

use chronoxide_select::{Patterns, Selector};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::block::PyBlock;
use crate::errors::SelectorError;
use crate::folder::PyFolder;

/// Labels of one series, from any mapping of strings.
pub(crate) struct Labels(Vec<(String, String)>);

impl Labels {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &String)> {
        self.0.iter().map(|(name, value)| (name, value))
    }
}

impl<'py> FromPyObject<'_, 'py> for Labels {
    type Error = PyErr;

    fn extract(mapping: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let expected = |_| PyTypeError::new_err("expected a mapping of label names to values");
        let items = mapping.call_method0("items").map_err(expected)?;
        let items = items.try_iter()?.map(|item| item?.extract::<(String, String)>());
        items.collect::<PyResult<_>>().map_err(expected).map(Self)
    }
}

/// Paths of files: one or several, or those of open blocks.
pub(crate) struct Paths(pub(crate) Vec<PathBuf>);

impl<'py> FromPyObject<'_, 'py> for Paths {
    type Error = PyErr;

    fn extract(paths: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Some(path) = path(&paths)? {
            return Ok(Self(vec![path]));
        }
        let expected = || PyTypeError::new_err("expected a path, an open block, or several of them");
        let mut several = Vec::new();
        for one in paths.try_iter().map_err(|_| expected())? {
            several.push(path(&one?)?.ok_or_else(expected)?);
        }
        Ok(Self(several))
    }
}

/// Returns the path that an object is or has, or `None` if it is not a path.
fn path(object: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if object.is_instance_of::<PyBlock>() || object.is_instance_of::<PyFolder>() {
        return object.getattr("path")?.extract();
    }
    let is_path = object.is_instance_of::<PyString>() || object.hasattr("__fspath__")?;
    if is_path && !object.is_instance_of::<PyBytes>() { object.extract().map(Some) } else { Ok(None) }
}

/// Parses a selector, within the bounds of others.
pub(crate) fn parse(patterns: &mut Patterns<'_>, text: &str) -> PyResult<Selector> {
    patterns.parse_any(text).map_err(|error| SelectorError::new_err(error.to_string()))
}
