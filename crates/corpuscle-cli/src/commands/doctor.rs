//! `corpuscle doctor`: what this machine and this build have, for a bug report or a slow run.

use corpuscle::Run;
use serde_json::json;

use crate::args::Everywhere;
use crate::{output, screen};

pub(crate) fn run(everywhere: &Everywhere, run: &Run) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let sets = instruction_sets();
    let memory = memory();
    let folder = std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
    let checked = cfg!(debug_assertions);
    if everywhere.json {
        return output::print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "system": std::env::consts::OS,
            "architecture": std::env::consts::ARCH,
            "release_build": !checked,
            "cores": cores,
            "threads": run.threads(),
            "instruction_sets": sets,
            "fast_kernels": is_fast(&sets),
            "memory_bytes": memory.map(|(total, _)| total),
            "available_bytes": memory.map(|(_, available)| available),
            "folder": folder,
            "caches": [],
            "terminal_width": screen::width(),
            "colours": screen::has_colours(),
        }));
    }
    let kernels = match is_fast(&sets) {
        true => "used at full width",
        false => "without avx2 and fma, several times slower than on a newer processor",
    };
    let build = if checked { ", built with debug checks: build with --release for speed" } else { "" };
    output::print_text(&output::facts(&[
        ("version", format!("corpuscle {}{build}", env!("CARGO_PKG_VERSION"))),
        ("system", format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH)),
        ("cores", format!("{cores} ({} threads used; --threads sets them)", run.threads())),
        (
            "instructions",
            format!("{}; {kernels}", if sets.is_empty() { "none known".to_string() } else { sets.join(", ") }),
        ),
        (
            "memory",
            memory.map_or("unknown".to_string(), |(total, available)| {
                format!("{}, {} of it free for use", output::bytes(total), output::bytes(available))
            }),
        ),
        ("models", format!("where -o says, from this folder: {folder}")),
        ("caches", "none: nothing is kept outside of the files you name, and nothing is sent anywhere".to_string()),
        (
            "terminal",
            match screen::width() {
                Some(width) => {
                    format!("{width} columns, {} colours", if screen::has_colours() { "with" } else { "without" })
                }
                None => "none: output goes to a file or a pipe".to_string(),
            },
        ),
    ]))
}

/// The sets that matter to the kernels, of those this processor has.
fn instruction_sets() -> Vec<&'static str> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    {
        let found = [
            ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
            ("avx", std::is_x86_feature_detected!("avx")),
            ("avx2", std::is_x86_feature_detected!("avx2")),
            ("fma", std::is_x86_feature_detected!("fma")),
            ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ];
        found.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }
    #[cfg(target_arch = "aarch64")]
    {
        vec!["neon"]
    }
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Vec::new()
    }
}

fn is_fast(sets: &[&str]) -> bool {
    sets.contains(&"neon") || ["avx2", "fma"].iter().all(|set| sets.contains(set))
}

/// All memory and what of it is free, in bytes; `None` where the system does not say.
fn memory() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    Some((of("MemTotal")?, of("MemAvailable")?))
}
