//! Progress on stderr: a bar with an estimate when the length is known, a spinner when not, nothing when nobody looks.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::Duration;

use corpuscle::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows progress when stderr is a terminal; warnings always.
#[derive(Debug)]
pub(crate) struct Terminal {
    bar: Mutex<Option<ProgressBar>>,
    shows_bars: bool,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        Terminal { bar: Mutex::new(None), shows_bars: std::io::stderr().is_terminal() }
    }

    /// Whether tables that redraw themselves can be shown.
    pub(crate) fn redraws(&self) -> bool {
        self.shows_bars
    }

    /// A line for people, above the bar when there is one.
    pub(crate) fn say(&self, line: &str) {
        let show = || {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        };
        self.with_bar(|bar| match bar {
            Some(bar) => bar.suspend(show),
            None => show(),
        });
    }

    /// Shows a table below the bar, instead of the one shown before. It goes when the bar goes.
    pub(crate) fn table(&self, text: &str) {
        const KNOWN: &str = "[{bar:32}] {human_pos}/{human_len}  {elapsed}, {eta} left\n{msg}";
        const UNKNOWN: &str = "{spinner} {elapsed}\n{msg}";
        self.with_bar(|bar| {
            let template = if bar.as_ref().is_some_and(|bar| bar.length().is_some()) { KNOWN } else { UNKNOWN };
            if let (Some(bar), Ok(style)) = (bar, ProgressStyle::with_template(template)) {
                bar.set_style(style.progress_chars("=> "));
                bar.set_message(text.trim_end().to_string());
            }
        });
    }

    fn with_bar(&self, act: impl FnOnce(&mut Option<ProgressBar>)) {
        if let Ok(mut bar) = self.bar.lock() {
            act(&mut bar);
        }
    }
}

impl Progress for Terminal {
    fn start(&self, stage: &str, total: Option<u64>) {
        if !self.shows_bars {
            return;
        }
        let (new, template) = match total {
            Some(total) => {
                (ProgressBar::new(total), "{msg:12} [{bar:32}] {human_pos}/{human_len}  {elapsed}, {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{msg:12} {spinner} {human_pos:>9}  {elapsed}"),
        };
        // A template that cannot be read would be a bug here; the default style still shows progress.
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        new.set_style(style.progress_chars("=> "));
        new.set_message(stage.to_string());
        new.enable_steady_tick(Duration::from_millis(120));
        self.with_bar(|bar| {
            if let Some(old) = bar.replace(new) {
                old.finish_and_clear();
            }
        });
    }

    fn advance(&self, steps: u64) {
        if self.shows_bars {
            self.with_bar(|bar| {
                if let Some(bar) = bar {
                    bar.inc(steps);
                }
            });
        }
    }

    fn finish(&self, _stage: &str, _seconds: f64) {
        self.with_bar(|bar| {
            if let Some(old) = bar.take() {
                old.finish_and_clear();
            }
        });
    }

    fn warn(&self, message: &str) {
        let word = crate::screen::painted("warning:", crate::screen::Colour::Yellow);
        self.say(&format!("{word} {}", crate::output::with_hints(message)));
    }
}
