//! Memory limits of the process.

use std::path::Path;

use chronoxide_text::human;

use crate::{Exit, Failure};

/// Default limit of a command if the amount of memory is unknown.
const FALLBACK_LIMIT: usize = 1 << 30;

/// Returns the bytes of memory that this process may use, or `None` if the amount is unknown.
///
/// On Linux this is the smallest of the machine's memory, the limits of the process's control groups (version 1 and 2,
/// with all ancestors; `memory.high` and `memory.max`), and the soft limits on address space and data (`ulimit -v`,
/// `ulimit -d`). On other systems it is the machine's memory.
///
/// Memory in use by other processes is not subtracted, so the result does not change while a command runs.
#[must_use]
pub fn usable() -> Option<u64> {
    system::usable()
}

/// Returns half of the memory that this process may [use](usable): the limit of a command without `--memory-limit`.
///
/// It is 1 GiB if the amount of memory is unknown.
///
/// ```
/// let limit = chronoxide_commands::memory::default_limit();
/// assert!(limit > 0);
/// ```
#[must_use]
pub fn default_limit() -> usize {
    usable().map_or(FALLBACK_LIMIT, |bytes| usize::try_from(bytes / 2).unwrap_or(usize::MAX / 2)).max(1)
}

/// Minimum limit of a merge: the program, its threads and their buffers take less.
pub(crate) const LEAST_LIMIT: usize = 64 << 20;

/// Keeps the heap below the limit of the user, or the default, times `jobs` that run at once. What exceeds it goes to a
/// scratch file in a folder. Returns the bytes that a job may need: its limit and the free space of the folder.
///
/// # Errors
/// The limit of the user is too low.
pub(crate) fn hold(limit: Option<usize>, jobs: usize, folder: &Path) -> Result<usize, Failure> {
    check_least(limit, LEAST_LIMIT)?;
    // The folder of the outputs may not exist yet.
    let folder = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    let limit = limit.unwrap_or_else(|| default_limit() / jobs).max(LEAST_LIMIT);
    chronoxide_memory::limit(limit.saturating_mul(jobs));
    // Without a scratch file the limit holds, too: merges that would exceed it are refused.
    let spills = tempfile::tempfile_in(folder).and_then(chronoxide_memory::spill_to).is_ok();
    Ok(if spills { limit.saturating_add(system::free_space(folder) / jobs) } else { limit })
}

/// Refuses a limit of the user that is too low.
pub(crate) fn check_least(limit: Option<usize>, least: usize) -> Result<(), Failure> {
    let Some(limit) = limit.filter(|&limit| limit < least) else { return Ok(()) };
    let (least, limit) = (human::bytes(least as u64), human::bytes(limit as u64));
    Err(Failure::new(Exit::Usage, format!("--memory-limit must be at least {least}, not {limit}")))
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::path::{Component, Path};

    use procfs::process::{LimitValue, Limits, MountInfos, Process};
    use procfs::{Current, Meminfo, ProcessCGroups};

    pub(super) fn usable() -> Option<u64> {
        // Files of /proc that cannot be read set no limit: a chroot may lack them.
        let total = Meminfo::current().ok().map(|memory| memory.mem_total);
        let process = Process::myself().ok();
        let limits = process.as_ref().and_then(|process| process.limits().ok());
        let groups = process.as_ref().and_then(|process| {
            let (groups, mounts) = (process.cgroups().ok()?, process.mountinfo().ok()?);
            control_group_limit(&groups, &mounts)
        });
        [total, limits.as_ref().and_then(resource_limit), groups].into_iter().flatten().min()
    }

    /// Returns the bytes that files in a folder may take, 0 if they are unknown.
    pub(super) fn free_space(folder: &Path) -> usize {
        let bytes = rustix::fs::statvfs(folder).map(|found| found.f_bavail.saturating_mul(found.f_frsize));
        usize::try_from(bytes.unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// Returns the smaller of the soft limits on address space and data.
    pub(super) fn resource_limit(limits: &Limits) -> Option<u64> {
        let bytes = |limit: LimitValue| match limit {
            LimitValue::Value(bytes) => Some(bytes),
            LimitValue::Unlimited => None,
        };
        let soft = [limits.max_address_space.soft_limit, limits.max_data_size.soft_limit];
        soft.into_iter().filter_map(bytes).min()
    }

    /// Returns the smallest limit of the process's control groups and their ancestors, in all hierarchies that limit
    /// memory.
    pub(super) fn control_group_limit(groups: &ProcessCGroups, mounts: &MountInfos) -> Option<u64> {
        let mut least = None;
        for group in groups {
            let is_unified = group.controllers.iter().all(String::is_empty);
            if !is_unified && !group.controllers.iter().any(|name| name == "memory") {
                continue;
            }
            let (fs_type, files): (_, &[&str]) = match is_unified {
                true => ("cgroup2", &["memory.max", "memory.high"]),
                false => ("cgroup", &["memory.limit_in_bytes"]),
            };
            for mount in mounts {
                let limits_group =
                    mount.fs_type == fs_type && (is_unified || mount.super_options.contains_key("memory"));
                if limits_group {
                    let limit = hierarchy_limit(&mount.mount_point, &mount.root, &group.pathname, files);
                    least = [least, limit].into_iter().flatten().min();
                }
            }
        }
        least
    }

    /// Returns the smallest limit from a group up to the root of its mount.
    fn hierarchy_limit(mount_point: &Path, mount_root: &str, group: &str, files: &[&str]) -> Option<u64> {
        // In a container the mount may show only the container's groups: its root is then the group.
        let inside = Path::new(group).strip_prefix(mount_root).unwrap_or(Path::new(""));
        let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        let inside = if is_plain { inside } else { Path::new("") };
        let groups = inside.ancestors().map(|ancestor| mount_point.join(ancestor));
        // "max" is not a number, and means no limit.
        let read = |path: &Path| fs::read_to_string(path).ok()?.trim().parse().ok();
        groups.flat_map(|group| files.iter().filter_map(move |file| read(&group.join(file)))).min()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    use sysinfo::{MemoryRefreshKind, RefreshKind, System};

    pub(super) fn usable() -> Option<u64> {
        let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(memory).ok()?;
        Some(system.total_memory()).filter(|&bytes| bytes > 0)
    }

    /// Nothing spills to a file.
    pub(super) fn free_space(_folder: &Path) -> usize {
        0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use procfs::process::{Limits, MountInfos};
    use procfs::{FromBufRead, ProcessCGroups};

    use super::system::{control_group_limit, resource_limit};

    fn write(folder: &Path, path: &str, content: &str) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// `folder` stands for `/sys/fs/cgroup`.
    fn limit(folder: &Path, groups: &str, mounts: &str) -> Option<u64> {
        let mounts = mounts.replace("FOLDER", folder.to_str().unwrap());
        let groups = ProcessCGroups::from_buf_read(groups.as_bytes()).unwrap();
        control_group_limit(&groups, &MountInfos::from_buf_read(mounts.as_bytes()).unwrap())
    }

    #[test]
    fn the_smallest_limit_of_nested_unified_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mounts = "30 23 0:26 / FOLDER rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "0::/user.slice/job.scope\n";
        assert_eq!(limit(folder.path(), groups, mounts), None, "no file says anything");
        write(folder.path(), "user.slice/job.scope/memory.max", "max\n");
        assert_eq!(limit(folder.path(), groups, mounts), None);
        write(folder.path(), "user.slice/memory.max", "3000\n");
        assert_eq!(limit(folder.path(), groups, mounts), Some(3000), "an ancestor bounds its children");
        write(folder.path(), "user.slice/job.scope/memory.high", "2000\n");
        assert_eq!(limit(folder.path(), groups, mounts), Some(2000));
        write(folder.path(), "other.slice/memory.max", "10\n");
        assert_eq!(limit(folder.path(), groups, mounts), Some(2000), "others do not");
    }

    #[test]
    fn the_memory_hierarchy_of_version_1_counts_beside_an_empty_unified_one() {
        let folder = tempfile::tempdir().unwrap();
        let mounts = "35 31 0:32 / FOLDER/memory rw,relatime - cgroup cgroup rw,memory\n\
                      36 31 0:33 / FOLDER/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
                      41 31 0:38 / FOLDER/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/outer/inner\n2:cpu,cpuacct:/\n0::/\n";
        write(folder.path(), "memory/memory.limit_in_bytes", "9223372036854771712\n");
        write(folder.path(), "memory/outer/memory.limit_in_bytes", "5000\n");
        write(folder.path(), "memory/outer/inner/memory.limit_in_bytes", "6000\n");
        write(folder.path(), "cpu/memory.limit_in_bytes", "1\n");
        assert_eq!(limit(folder.path(), groups, mounts), Some(5000));
    }

    #[test]
    fn the_root_of_a_mount_stands_for_groups_outside_of_it() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "memory.max", "7000\n");
        write(folder.path(), "inner/memory.max", "6000\n");
        let mount = |root: &str| format!("30 23 0:26 {root} FOLDER ro - cgroup2 cgroup2 rw\n");
        assert_eq!(limit(folder.path(), "0::/docker/abc\n", &mount("/docker/abc")), Some(7000));
        assert_eq!(limit(folder.path(), "0::/docker/abc/inner\n", &mount("/docker/abc")), Some(6000));
        assert_eq!(limit(folder.path(), "0::/elsewhere\n", &mount("/docker/abc")), Some(7000));
        assert_eq!(limit(folder.path(), "0::/../inner\n", &mount("/")), Some(7000));
    }

    #[test]
    fn the_smaller_soft_limit_counts() {
        let limits = |address_space: &str, data: &str| {
            let text = fs::read_to_string("/proc/self/limits").unwrap();
            let lines = text.lines().map(|line| match line {
                _ if line.starts_with("Max address space") => format!("Max address space {address_space} bytes"),
                _ if line.starts_with("Max data size") => format!("Max data size {data} bytes"),
                _ => line.to_owned(),
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            resource_limit(&Limits::from_buf_read(text.as_bytes()).unwrap())
        };
        assert_eq!(
            limits("unlimited            unlimited           ", "unlimited            unlimited           "),
            None
        );
        assert_eq!(
            limits("4096                 unlimited           ", "unlimited            unlimited           "),
            Some(4096)
        );
        assert_eq!(
            limits("4096                 8192                ", "1024                 unlimited           "),
            Some(1024)
        );
    }

    /// Runs this test again in a process whose address space is limited.
    #[test]
    fn a_limit_on_address_space_bounds_the_default() {
        const CHILD: &str = "CHRONOXIDE_LIMITED_CHILD";
        if std::env::var_os(CHILD).is_some() {
            assert_eq!(super::usable(), Some(600_000 << 10));
            assert_eq!(super::default_limit(), 300_000 << 10);
            return;
        }
        let program = std::env::current_exe().unwrap();
        let name = "memory::tests::a_limit_on_address_space_bounds_the_default";
        let status = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 600000 && exec \"$0\" --exact \"$1\""])
            .args([program.as_os_str(), name.as_ref()])
            .env(CHILD, "1")
            .status()
            .unwrap();
        assert!(status.success());
    }
}
